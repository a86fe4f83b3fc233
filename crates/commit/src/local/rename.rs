//! The moves of a rename; see [`crate::rename`].

use std::io;
use std::path::Path;

use super::LocalTable;
use super::disk::DiskKind;
use crate::{Error, Result, names};

impl LocalTable {
    /// Whether this table can get the name of `to`, as far as that can be told without a lock.
    pub(crate) fn check_rename(&self, to: &Self) -> Result<()> {
        let shown = self.named.display();
        if self.find(&self.named)?.is_some_and(|found| found.kind == DiskKind::Link) {
            return Err(Error::unsupported(format!(
                "{shown} is a link: rename the link, or the table where its files are"
            )));
        }
        if self.dir.parent() != to.dir.parent() {
            return Err(Error::unsupported(format!(
                "{} is not beside {shown}: a table is renamed within its folder",
                to.named.display()
            )));
        }
        self.check_there()?;
        to.check_free()
    }

    fn check_there(&self) -> Result<()> {
        match self.look_now()?.exists {
            true => Ok(()),
            false => Err(Error::invalid(format!("there is no table {}", self.named.display()))),
        }
    }

    /// A folder without data and without the marker of a log is nobody's table.
    fn check_table(&self, logged: bool) -> Result<()> {
        match logged || self.has_marker(&self.dir) || self.any_data()? {
            true => Ok(()),
            false => Err(Error::invalid(format!("{} holds no Parquet file", self.named.display()))),
        }
    }

    fn check_free(&self) -> Result<()> {
        match self.find(&self.dir)? {
            None => Ok(()),
            Some(_) => Err(self.taken()),
        }
    }

    fn taken(&self) -> Error {
        Error::invalid(format!(
            "{} is there already: drop it first, or take another name",
            self.named.display()
        ))
    }

    /// Whether there is a folder for a log under this name, with a log in it or not.
    pub(crate) fn has_log_folder(&self) -> Result<bool> {
        self.is_there(&self.home)
    }

    /// Log folder first, then directory. `logged` says that the table has a log under its old name;
    /// one without may have it under the new name already, from a rename that stopped half-way.
    pub(crate) fn move_to(&self, to: &Self, logged: bool) -> Result<()> {
        self.check_there()?;
        self.check_table(logged)?;
        to.check_free()?;
        if !logged && self.log_is_at(to)? {
            return self.move_directory(to);
        }
        to.clear_log_folder()?;
        self.move_log(to)?;
        match self.move_directory(to) {
            Err(error) => {
                if self.find(&self.dir)?.is_some() {
                    to.move_log(self)?;
                }
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }

    /// Whether the log under the name of `to` is that of this directory: its marker is in it.
    fn log_is_at(&self, to: &Self) -> Result<bool> {
        match to.look_now()?.meta {
            Some(meta) => self.is_there(&self.dir.join(names::marker(&meta.table))),
            None => Ok(false),
        }
    }

    /// A name without a directory has the log of an earlier life at most, which is kept under its
    /// id, and what writers that were too late staged.
    fn clear_log_folder(&self) -> Result<()> {
        if !self.has_log_folder()? {
            return Ok(());
        }
        if let Some(meta) = self.look_now()?.meta {
            self.set_log_aside(&meta.table)?;
        }
        let id = uuid::Uuid::new_v4().to_string();
        let away = self.folder_beside(&names::purged(&self.name(), &id))?;
        self.disk.rename(&self.home, &away).map_err(|e| Error::io("move", &self.home, e))?;
        self.remove_own_tree(&away)
    }

    fn move_log(&self, to: &Self) -> Result<()> {
        self.move_one(&self.home, &to.home, to)
    }

    fn move_directory(&self, to: &Self) -> Result<()> {
        self.move_one(&self.dir, &to.dir, to)
    }

    fn move_one(&self, from: &Path, to: &Path, target: &Self) -> Result<()> {
        match self.disk.rename_new(from, to) {
            Ok(()) => to.parent().map_or(Ok(()), |parent| self.sync(parent)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(target.taken()),
            Err(error) => Err(Error::io("rename", from, error)),
        }
    }
}
