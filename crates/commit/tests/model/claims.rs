//! What has to hold: of each state that is reached, and of what comes after the last step.

use std::collections::BTreeSet;

use stateright::Property;

use super::programs::{bring_in, clean, fetch, help, look_around};
use super::protocol::{FOREIGN, OUTSIDER, Protocol, transaction};
use super::scenario::Role;
use super::state::{Content, End, Phase, Said, State};
use super::table::{Mutation, Watched};
use crate::change::{Coverage, Operation};
use crate::partition::PartitionValue;
use crate::record::{Identity, Record, RemovedFile};

/// All of them, for the checker.
pub(super) fn all() -> Vec<Property<Protocol>> {
    vec![
        Property::always(
            "a snapshot is one version, whole",
            |protocol: &Protocol, state: &State| {
                said(state).all(|(_, said)| match said {
                    Said::Read(version, content) => protocol.is_whole(state, *version, content),
                    _ => true,
                })
            },
        ),
        Property::always("what a writer was told is so", |_, state: &State| {
            said(state).all(|(process, said)| match said {
                Said::Committed(version) => {
                    let logged = state.versions.get(*version as usize - 2);
                    logged.is_some_and(|logged| {
                        logged.writer == process
                            && matches!(logged.end, Some(End::Done | End::Skipped(_)))
                    })
                }
                Said::Refused(_) => state
                    .versions
                    .iter()
                    .all(|logged| logged.writer != process || logged.end == Some(End::Void)),
                _ => true,
            })
        }),
        Property::always("an outcome is settled once", |_, state: &State| {
            state.rewritten.is_none()
        }),
        Property::always("no step breaks", |_, state: &State| {
            said(state).all(|(_, said)| !matches!(said, Said::Broken(_)))
        }),
        Property::always("a reader reads", |protocol: &Protocol, state: &State| {
            let may_fail = protocol.scenario.trims || protocol.scenario.foreign;
            said(state).all(|(process, said)| {
                let reader = matches!(protocol.scenario.roles[process], Role::Reader);
                may_fail || !reader || matches!(said, Said::Read(..))
            })
        }),
        Property::always("nothing is void that wasn't swept in time", |_, state: &State| {
            let mut void = state.versions.iter().filter(|v| v.end == Some(End::Void));
            void.all(|version| state.unlogged.contains(&version.writer))
        }),
        Property::always("whoever comes next finishes", |protocol: &Protocol, state: &State| {
            !state.is_quiet() || protocol.finishes(state).is_ok()
        }),
        Property::sometimes("a reader read the newest", |_, state: &State| {
            said(state).any(|(_, said)| match said {
                Said::Read(version, _) => *version == state.versions.len() as u64 + 1,
                _ => false,
            })
        }),
    ]
}

impl Protocol {
    /// What a version is meant to hold, as the log orders the writes.
    pub(super) fn meant(&self, state: &State, version: u64) -> Content {
        let mut content = self.first.clone();
        for logged in state.versions.iter().take(version.saturating_sub(1) as usize) {
            if logged.end != Some(End::Void)
                && let Role::Writer(operation, files) = &self.scenario.roles[logged.writer]
            {
                apply(operation, files, &mut content);
            }
        }
        if state.foreign && !self.was_replaced(state) {
            content.insert("p=a".to_string(), [FOREIGN[1]].into());
        }
        content
    }

    /// Whether a record that counts removed what the other tool wrote: by its identity.
    fn was_replaced(&self, state: &State) -> bool {
        let removes = |record: Record| {
            let removed = record.partitions.iter().flat_map(|partition| &partition.removed);
            let id = i64::from(FOREIGN[1]);
            let same = |file: &RemovedFile| {
                let Identity { modified_ns, etag, .. } = &file.identity;
                *modified_ns == Some(id) || *etag == Some(id.to_string())
            };
            removed.clone().any(same)
        };
        let logged = (2u64..).zip(&state.versions).filter(|(_, v)| v.end != Some(End::Void));
        logged.filter_map(|(version, _)| state.record(version)).any(removes)
    }

    /// Whether a reader may have read that: a version, whole. What the other tool replaces is
    /// there or gone from one moment to the next, but nothing of ours is united.
    fn is_whole(&self, state: &State, version: u64, content: &Content) -> bool {
        let meant = self.meant(state, version);
        if !self.scenario.foreign {
            return *content == meant;
        }
        let others = |content: &Content| -> Content {
            let others = content.iter().filter(|(partition, _)| *partition != "p=a");
            others.map(|(partition, bytes)| (partition.clone(), bytes.clone())).collect()
        };
        let first = self.first.get("p=a").cloned().unwrap_or_default();
        let found = content.get("p=a").cloned().unwrap_or_default();
        let ours = found.iter().any(|byte| !first.contains(byte) && *byte != FOREIGN[1]);
        others(content) == others(&meant) && (!ours || found.is_disjoint(&first))
    }

    /// Once nobody is at work: a reader needs no writer to come first. Where a swap was stopped that
    /// met the other tool's file, it waits for one.
    fn reads(&self, state: &State) -> std::result::Result<(), String> {
        let listed = state.world.listed().remove("p=a").unwrap_or_default();
        let met = listed.len() > 1 && listed.contains(&FOREIGN[1]);
        if state.foreign && (met || !listed.contains(&FOREIGN[1])) {
            return Ok(());
        }
        let read = async |table: &Watched| {
            let mut rest = (look_around(table, &self.schema).await?, Content::new());
            let version = rest.0.version;
            while !rest.0.files.is_empty() {
                rest = fetch(table, rest.0, rest.1).await?;
            }
            Ok((version, rest.1))
        };
        let (_, read) = self.whole(&state.world, self.scenario.mutation, read);
        let (version, content) = read.map_err(|error| format!("{error:?}"))?;
        let whole = self.is_whole(state, version, &content);
        if whole { Ok(()) } else { Err(format!("version {version} is read as {content:?}")) }
    }

    /// Once nobody is at work: whoever comes next finds all of it finished, as it was meant, and
    /// nothing more to do.
    pub(super) fn finishes(&self, state: &State) -> std::result::Result<(), String> {
        self.reads(state)?;
        let newest = state.versions.len() as u64 + 1;
        let listed = state.world.listed();
        if state.crashes == 0 && listed != self.meant(state, newest) {
            return Err(format!("without a crash, {listed:?} is listed"));
        }
        let own = transaction(OUTSIDER);
        let help = async |table: &Watched| help(table, &own).await;
        let (once, done) = self.whole(&state.world, Mutation::None, help);
        done.map_err(|error| format!("{error:?}"))?;
        let mut after = State { world: once, ..state.clone() };
        after.observe(|record| self.writer_of(record));
        let published = after.published().map_or(0, |published| published.version);
        if published != newest || after.rewritten.is_some() {
            return Err(format!("{published} is published of {newest}: {:?}", after.rewritten));
        }
        let (listed, meant) = (after.world.listed(), self.meant(&after, newest));
        if listed != meant {
            return Err(format!("{listed:?} is there, {meant:?} was meant"));
        }
        let (twice, done) = self.whole(&after.world, Mutation::None, help);
        done.map_err(|error| format!("{error:?}"))?;
        let again = after.record(newest).filter(|_| newest > 1);
        let redo = async |table: &Watched| match &again {
            Some(record) => {
                let end = bring_in(table, record).await?;
                clean(table, record, end, false).await
            }
            None => Ok(()),
        };
        let (redone, done) = self.whole(&twice, Mutation::None, redo);
        done.map_err(|error| format!("{error:?}"))?;
        if twice != after.world || redone != after.world {
            return Err("finishing once more changes something".into());
        }
        Ok(())
    }
}

fn apply(operation: &Operation, files: &[(&'static str, u8)], content: &mut Content) {
    let dir = |partition: &str| format!("p={partition}");
    let written: BTreeSet<String> = files.iter().map(|(partition, _)| dir(partition)).collect();
    match operation {
        Operation::Overwrite(Coverage::Written) => {
            content.retain(|partition, _| !written.contains(partition));
        }
        Operation::Overwrite(Coverage::Matching(values)) => content.retain(|partition, _| {
            let value = partition.trim_start_matches("p=").to_string();
            values.iter().any(|(_, wanted)| *wanted != PartitionValue::Text(value.clone()))
        }),
        _ => {}
    }
    for (partition, byte) in files {
        content.entry(dir(partition)).or_default().insert(*byte);
    }
}

/// What the processes that ended told.
fn said(state: &State) -> impl Iterator<Item = (usize, &Said)> {
    state.processes.iter().enumerate().filter_map(|(process, found)| match &found.phase {
        Phase::Ended(said) => Some((process, said)),
        _ => None,
    })
}
