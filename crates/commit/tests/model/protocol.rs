//! The model: which processes there are, what they can do next, and what has to hold.

use std::collections::BTreeSet;

use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use object_store::path::Path as StorePath;
use stateright::{Model, Property};

use super::claims;
use super::disk::ModelDisk;
use super::programs::{
    Planned, Write, bring_in, clean, fetch, help, look_around, plan, unfinished, unlogged,
};
use super::scenario::{Role, Scenario};
use super::script::{Grain, Script};
use super::state::{Content, End, Phase, Process, Said, State, Taken};
use super::store::ModelStore;
use super::table::{Mutation, Watched};
use super::world::{File, HOME, Node, TABLE_DIR, World};
use crate::backend::{Backend, Meta, StagedPlace};
use crate::change::{Change, Operation};
use crate::local::LocalTable;
use crate::partition::{PartitionKey, PartitionValue, partition_path};
use crate::record::{FORMAT, FileStats, Record, TransactionId};
use crate::schema::TableSchema;
use crate::store::StoreTable;
use crate::transaction::StagedFile;
use crate::{Result, names};
use object_store::multipart::MultipartStore;

pub(super) const TABLE_ID: &str = "00000000-0000-4000-8000-000000000000";
/// Who made what is there before the exploration begins, and who looks at what is there after it.
pub(super) const OUTSIDER: usize = 99;

/// What the other tool writes, each time to the same name.
pub(super) const FOREIGN: [u8; 2] = [8, 9];
const FOREIGN_NAME: &str = "/lake/t/p=a/data_0.parquet";

pub(super) struct Protocol {
    pub(super) scenario: Scenario,
    pub(super) schema: TableSchema,
    writes: Vec<Option<Write>>,
    start: World,
    pub(super) first: Content,
    wide: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The process makes its next step.
    Step(usize),
    /// The same, but the record that it puts is lost on the way.
    Lose(usize),
    /// That record arrives.
    Arrive,
    /// It is no more.
    Crash(usize),
    /// The other tool is at work.
    Foreign,
}

fn schema() -> TableSchema {
    let fields = ["v", "p"].map(|name| Field::new(name, DataType::Utf8, true));
    TableSchema::new(Arc::new(Schema::new(fields.to_vec())), vec!["p".into()]).unwrap()
}

pub(super) fn transaction(process: usize) -> TransactionId {
    let id = format!("00000000-0000-7000-8000-0000000000{process:02}");
    serde_json::from_value(serde_json::Value::String(id)).unwrap()
}

fn key(partition: &str) -> PartitionKey {
    PartitionKey::new(vec![PartitionValue::Text(partition.to_string())])
}

/// Whether every call is a step of its own, and what takes hours is explored too.
pub(super) fn is_wide() -> bool {
    std::env::var_os("PARTWISE_MODEL").is_some_and(|value| value == "wide")
}

impl Protocol {
    pub(super) fn new(scenario: Scenario) -> Self {
        let (start, first) = (World::default(), Content::new());
        let mut protocol =
            Self { scenario, schema: schema(), writes: Vec::new(), start, first, wide: is_wide() };
        protocol.found_table();
        for (process, role) in protocol.scenario.roles.clone().into_iter().enumerate() {
            let write = match role {
                Role::Writer(operation, files) => Some(protocol.staged(process, operation, &files)),
                Role::Reader | Role::Helper | Role::Sweeper => None,
            };
            protocol.writes.push(write);
        }
        protocol
    }

    /// The table as its first version leaves it: `p=a` and `p=b` with a file each.
    fn found_table(&mut self) {
        for dir in ["", "/lake", TABLE_DIR, "/lake/_partwise", HOME] {
            self.start.nodes.insert(dir.into(), Node::Dir);
        }
        let files = [("a", 1), ("b", 2)];
        let meta =
            Meta { format: FORMAT, table: TABLE_ID.to_string(), properties: Default::default() };
        self.by_outsider(async |table| table.create_meta(&meta).await.map(|_| ()));
        let write = self.staged(OUTSIDER, Operation::Create, &files);
        let schema = self.schema.clone();
        self.by_outsider(async |table| {
            let Planned::Logged(record) = plan(table, &write, &schema).await? else {
                panic!("the first version isn't logged")
            };
            let end = bring_in(table, &record).await?;
            clean(table, &record, end, false).await
        });
        if self.scenario.foreign {
            self.start.put(FOREIGN_NAME, foreign(FOREIGN[0]));
        }
        self.first = self.start.listed();
    }

    fn by_outsider(&mut self, work: impl AsyncFnOnce(&Watched) -> Result<()>) {
        let (world, done) = self.whole(&self.start, Mutation::None, work);
        done.unwrap();
        self.start = world;
    }

    /// Does all of `work` in one go; the world after it.
    pub(super) fn whole<T>(
        &self,
        world: &World,
        mutation: Mutation,
        work: impl AsyncFnOnce(&Watched) -> Result<T>,
    ) -> (World, Result<T>) {
        let script = Script::new(world.clone(), Vec::new(), OUTSIDER, Grain::Whole);
        let table = self.table(script.clone(), mutation);
        let done = script.drive(work(&table)).expect("nothing stops it");
        let (mut world, _) = script.end();
        world.unlock(OUTSIDER);
        (world, done)
    }

    /// Stages a writer's files: it holds the lock of its staging until it ends.
    fn staged(&mut self, process: usize, operation: Operation, files: &[(&str, u8)]) -> Write {
        let txn = transaction(process);
        let twice = self.scenario.mutation == Mutation::NameTwice && process != OUTSIDER;
        let named = if twice { transaction(0) } else { txn.clone() };
        let script = Script::new(self.start.clone(), Vec::new(), process, Grain::Whole);
        let table = self.table(script.clone(), Mutation::None);
        let columns = self.schema.partition_columns();
        let work = async {
            let staging = table.begin(&txn, columns).await?;
            let mut staged = Vec::new();
            for (n, (partition, byte)) in files.iter().enumerate() {
                let partition = key(partition);
                let directory = partition_path(columns, &partition)?;
                let name = names::data_file(&named, n as u64, "parquet")?;
                let place = StagedPlace {
                    key: partition.clone(),
                    directory,
                    settled: true,
                    name: name.clone(),
                };
                let mut sink = staging.create(place).await?;
                sink.write(Bytes::from(vec![*byte])).await?;
                let bytes = sink.finish().await?;
                staged.push(StagedFile {
                    partition,
                    directory: bytes.directory,
                    name,
                    identity: bytes.identity,
                    rows: 1,
                    stats: FileStats::default(),
                    upload: bytes.upload,
                });
            }
            Ok::<_, crate::Error>(staged)
        };
        let staged = script.drive(work).expect("nothing stops it").unwrap();
        self.start = script.end().0;
        Write { change: Change::new(operation, staged), transaction: txn }
    }

    fn table(&self, script: Script, mutation: Mutation) -> Watched {
        let blind = mutation == Mutation::PathIsIdentity;
        let inner: Arc<dyn Backend> = if self.scenario.on_store {
            let again = mutation == Mutation::CompleteAgain;
            let reads = mutation == Mutation::PutOnce;
            let store = ModelStore { script: script.clone(), blind, again, reads };
            let prefix = StorePath::parse(TABLE_DIR).unwrap();
            Arc::new(StoreTable::resolve(Arc::new(store), &prefix).unwrap())
        } else {
            let disk = Arc::new(ModelDisk { script: script.clone(), blind });
            Arc::new(LocalTable::resolve(disk, &PathBuf::from(TABLE_DIR)).unwrap())
        };
        Watched::new(inner, script, mutation)
    }

    fn store(&self, table: &Watched) -> ModelStore {
        ModelStore { script: table.script.clone(), blind: false, again: false, reads: false }
    }

    /// Where nobody else changes anything, or a helper is slow in everybody's place, a look and the
    /// change that follows are one step.
    fn grain(&self, process: usize) -> Grain {
        let Scenario { roles, on_store, foreign, .. } = &self.scenario;
        let helped = roles.iter().any(|role| matches!(role, Role::Helper));
        match roles[process] {
            _ if self.wide => Grain::Call,
            Role::Reader => Grain::Method,
            Role::Helper if *on_store => Grain::Change,
            _ if *foreign || (*on_store && !helped) => Grain::Change,
            _ => Grain::Fused,
        }
    }

    fn step(&self, state: &mut State, process: usize) {
        let Process { phase, answers } = state.processes[process].clone();
        let answers = Vec::clone(&answers);
        let script = Script::new(state.world.clone(), answers, process, self.grain(process));
        let table = self.table(script.clone(), self.scenario.mutation);
        let looked = phase == Phase::Ready;
        let uploads = state.world.uploads.keys().cloned().collect();
        let next = script.drive(self.run(&table, process, phase, uploads));
        let (world, answers) = script.end();
        state.world = world;
        state.processes[process] = match next {
            None => Process { answers: Arc::new(answers), ..state.processes[process].clone() },
            Some(phase) => Process { phase, answers: Arc::default() },
        };
        if let Phase::Ended(_) = state.processes[process].phase {
            state.world.unlock(process);
        }
        state.world.loses = false;
        if looked && matches!(self.scenario.roles[process], Role::Sweeper) {
            let logged = |writer: &usize| state.versions.iter().any(|v| v.writer == *writer);
            state.unlogged = (0..state.processes.len()).filter(|n| !logged(n)).collect();
        }
        state.observe(|record| self.writer_of(record));
    }

    pub(super) fn writer_of(&self, record: &Record) -> usize {
        let by = |process: &usize| transaction(*process) == record.transaction;
        (0..self.scenario.roles.len()).find(by).expect("a writer's record")
    }

    async fn run(
        &self,
        table: &Watched,
        process: usize,
        phase: Phase,
        uploads: Vec<String>,
    ) -> Phase {
        self.try_run(table, process, phase, uploads).await.unwrap_or_else(|error| {
            let said = format!("{error:?}");
            Phase::Ended(
                if table.script.is_stopped() || error.kind() != crate::ErrorKind::Conflict {
                    Said::Broken(said)
                } else {
                    Said::Refused(said)
                },
            )
        })
    }

    async fn try_run(
        &self,
        table: &Watched,
        process: usize,
        phase: Phase,
        uploads: Vec<String>,
    ) -> Result<Phase> {
        let write = self.writes[process].as_ref();
        Ok(match (phase, write) {
            (Phase::Ready, Some(write)) => match plan(table, write, &self.schema).await? {
                Planned::Logged(record) => Phase::Complete((*record).into()),
                Planned::Again => Phase::Ready,
                Planned::Nothing => Phase::Ended(Said::Refused("nothing to do".into())),
            },
            (Phase::Complete(record), _) => {
                let end = bring_in(table, &record).await?;
                Phase::Clean(record, end)
            }
            (Phase::Clean(record, end), _) => {
                clean(table, &record, end.clone(), self.scenario.trims).await?;
                Phase::Ended(match end {
                    _ if write.is_none() => Said::Finished,
                    End::Void => Said::Refused("void".into()),
                    End::Done | End::Skipped(_) => Said::Committed(record.version),
                })
            }
            (Phase::Fetch(taken, content), _) => read_on(fetch(table, taken, content).await?),
            (Phase::Abort(mut uploads), _) => {
                // Completed or aborted by now: nothing to do.
                let upload = uploads.pop().unwrap_or_default();
                let _ = self.store(table).abort_multipart(&StorePath::default(), &upload).await;
                abort_on(uploads)
            }
            _ => match self.scenario.roles[process] {
                Role::Sweeper => abort_on(unlogged(table, uploads).await?),
                Role::Helper if self.scenario.on_store => match unfinished(table).await? {
                    Some(record) => Phase::Complete(record.into()),
                    None => Phase::Ended(Said::Finished),
                },
                Role::Helper => Phase::Ended(help(table, &transaction(process)).await?),
                _ => read_on((look_around(table, &self.schema).await?, Content::new())),
            },
        })
    }

    /// Whether a process can go on: whoever commits on a disk waits for the lock.
    fn can_step(&self, state: &State, process: usize) -> bool {
        let found = &state.processes[process];
        let waits = found.phase == Phase::Ready
            && !self.scenario.on_store
            && found.answers.is_empty()
            && !matches!(self.scenario.roles[process], Role::Reader);
        let free = !state.world.locks.contains_key(format!("{HOME}/{}", names::LOCK).as_str());
        !matches!(found.phase, Phase::Ended(_) | Phase::Crashed) && (free || !waits)
    }
}

fn foreign(byte: u8) -> File {
    File { id: byte.into(), bytes: Arc::from([byte]) }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let ready = Process { phase: Phase::Ready, answers: Arc::default() };
        vec![State {
            world: self.start.clone(),
            processes: vec![ready; self.scenario.roles.len()],
            crashes: 0,
            versions: Vec::new(),
            lost: false,
            unlogged: BTreeSet::new(),
            foreign: false,
            rewritten: None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if self.scenario.foreign && !state.foreign {
            actions.push(Action::Foreign);
        }
        if state.world.on_its_way.is_some() {
            actions.push(Action::Arrive);
        }
        for process in 0..state.processes.len() {
            if self.can_step(state, process) {
                actions.push(Action::Step(process));
                if self.scenario.loses && !state.lost {
                    actions.push(Action::Lose(process));
                }
            }
            let can_crash = !matches!(self.scenario.roles[process], Role::Reader)
                && state.crashes < self.scenario.crashes
                && !matches!(state.processes[process].phase, Phase::Ended(_) | Phase::Crashed);
            if can_crash {
                actions.push(Action::Crash(process));
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Step(process) => self.step(&mut state, process),
            Action::Lose(process) => {
                state.world.loses = true;
                self.step(&mut state, process);
                state.lost = true;
                state.world.on_its_way.as_ref()?;
            }
            Action::Arrive => {
                state.world.arrive();
                state.observe(|record| self.writer_of(record));
            }
            Action::Crash(process) => {
                let phase = Phase::Crashed;
                state.processes[process] = Process { phase, answers: Arc::default() };
                state.world.unlock(process);
                state.crashes += 1;
            }
            Action::Foreign => {
                state.world.replace_data("/lake/t/p=a", FOREIGN_NAME, foreign(FOREIGN[1]));
                state.foreign = true;
            }
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        claims::all()
    }
}

/// A sweeper aborts one upload after the other.
fn abort_on(uploads: Vec<String>) -> Phase {
    if uploads.is_empty() { Phase::Ended(Said::Finished) } else { Phase::Abort(uploads) }
}

/// A reader reads file after file, until all of its snapshot is read.
fn read_on((taken, content): (Taken, Content)) -> Phase {
    if taken.files.is_empty() {
        Phase::Ended(Said::Read(taken.version, content))
    } else {
        Phase::Fetch(taken, content)
    }
}
