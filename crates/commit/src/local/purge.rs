//! The end of a table, and of the log of an earlier life of its directory.

use std::io;
use std::path::{Path, PathBuf};

use super::LocalTable;
use super::files::missing_is;
use crate::{Error, Result, names};

impl LocalTable {
    /// Moves the log of an earlier life away under its id; `table.json` goes last, so that a crash
    /// on the way leaves a log that is still seen as another life's.
    pub(super) fn set_log_aside(&self, id: &str) -> Result<()> {
        let aside = self.folder_beside(&names::set_aside(&self.name(), id))?;
        self.make_dirs(&aside, None)?;
        if self.is_link(&aside)? {
            return Err(Error::corrupt(format!("{} is a link: remove it", aside.display())));
        }
        for name in [names::LOG, names::RETAINED, names::PUBLISHED, names::TABLE] {
            self.move_aside(&self.home.join(name), &aside, name)?;
        }
        self.sync(&self.home)?;
        self.sync(&aside)
    }

    fn move_aside(&self, from: &Path, aside: &Path, name: &str) -> Result<()> {
        let mut to = aside.join(name);
        let mut n = 1;
        while self.is_there(&to)? {
            to = aside.join(format!("{name}.{n}"));
            n += 1;
        }
        match self.disk.rename(from, &to) {
            Ok(()) => Ok(()),
            Err(error) => missing_is(error, (), "set aside", from),
        }
    }

    pub(super) fn folder_beside(&self, name: &str) -> Result<PathBuf> {
        let logs = self.home.parent();
        logs.map(|logs| logs.join(name))
            .ok_or_else(|| Error::internal(format!("{} has no parent", self.home.display())))
    }

    /// Removes directory and log. The directory goes away in one step, into the log folder, then
    /// that folder: a crash half-way leaves nothing that looks like a table.
    pub(super) fn remove_table(&self) -> Result<()> {
        self.make_log_home()?;
        let id = uuid::Uuid::new_v4().to_string();
        match self.disk.rename_new(&self.dir, &self.home.join(names::PURGED)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.remove_own_tree(&self.home.join(names::PURGED))?;
                let again = self.disk.rename(&self.dir, &self.home.join(names::PURGED));
                again.map_err(|error| Error::io("remove", &self.dir, error))?;
            }
            Err(error) => missing_is(error, (), "remove", &self.dir)?,
        }
        let away = self.folder_beside(&names::purged(&self.name(), &id))?;
        self.disk.rename(&self.home, &away).map_err(|e| Error::io("remove", &self.home, e))?;
        for dir in [self.dir.parent(), away.parent()].into_iter().flatten() {
            self.sync(dir)?;
        }
        self.remove_link()?;
        self.remove_own_tree(&away)?;
        if let Some(logs) = away.parent() {
            // Other tables' logs keep it.
            let _ = self.disk.remove_dir(logs);
        }
        Ok(())
    }

    /// The link by which the table was named, which leads nowhere by then.
    fn remove_link(&self) -> Result<()> {
        let found = self.find(&self.named)?;
        if found.is_some_and(|found| found.kind == super::DiskKind::Link) {
            self.remove_if_there(&self.named)?;
        }
        Ok(())
    }
}
