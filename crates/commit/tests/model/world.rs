//! What is on the disk, or in the bucket: names, and what they stand for.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::script::Answer;

pub(super) const TABLE_DIR: &str = "/lake/t";
pub(super) const HOME: &str = "/lake/_partwise/t";

pub(super) const ENOENT: i32 = 2;
pub(super) const EEXIST: i32 = 17;
pub(super) const ENOTDIR: i32 = 20;
pub(super) const EISDIR: i32 = 21;
pub(super) const ENOTEMPTY: i32 = 39;
/// Of a store: another object than the one expected is there.
pub(super) const PRECONDITION: i32 = -1;
/// Of a store: nobody knows whether it was done.
pub(super) const UNKNOWN: i32 = -2;

/// A file, or an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct File {
    /// Which file it is: inode and time of its last change, or entity tag.
    pub(super) id: u64,
    pub(super) bytes: Arc<[u8]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    Dir,
    File(File),
}

/// An open upload.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Upload {
    pub(super) key: Arc<str>,
    pub(super) bytes: Arc<[u8]>,
    /// Neither completed nor aborted.
    pub(super) open: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) nodes: BTreeMap<Arc<str>, Node>,
    /// Which process holds the lock of a path.
    pub(super) locks: BTreeMap<Arc<str>, usize>,
    pub(super) uploads: BTreeMap<String, Upload>,
    /// The next record to be put doesn't arrive, at first.
    pub(super) loses: bool,
    /// A put that was answered by an error, and may arrive yet.
    pub(super) on_its_way: Option<(Arc<str>, File)>,
}

impl World {
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        match self.nodes.get(path) {
            Some(Node::File(file)) => Some(file),
            _ => None,
        }
    }

    pub(super) fn look(&self, path: &str) -> Answer {
        match self.nodes.get(path) {
            Some(Node::Dir) => Answer::Found(true, 0, 0),
            Some(Node::File(file)) => Answer::Found(false, file.bytes.len() as u64, file.id),
            None => Answer::Failed(self.missing(path)),
        }
    }

    fn missing(&self, path: &str) -> i32 {
        match path.rsplit_once('/') {
            Some((parent, _)) if self.file(parent).is_some() => ENOTDIR,
            _ => ENOENT,
        }
    }

    pub(super) fn put(&mut self, path: &str, file: File) {
        self.nodes.insert(path.into(), Node::File(file));
    }

    /// What is below a directory, by path relative to it, with a `/` in front.
    fn below(&self, dir: &str) -> impl Iterator<Item = (&str, &Node)> {
        let prefix = format!("{dir}/");
        let from: Arc<str> = prefix.as_str().into();
        let found = self.nodes.range(from..);
        let at = dir.len();
        found
            .take_while(move |(path, _)| path.starts_with(&prefix))
            .map(move |(path, node)| (&path[at..], node))
    }

    /// The names in a directory and whether they are directories.
    pub(super) fn names(&self, dir: &str) -> Answer {
        match self.nodes.get(dir) {
            Some(Node::Dir) => {}
            Some(Node::File(_)) => return Answer::Failed(ENOTDIR),
            None => return Answer::Failed(ENOENT),
        }
        let entries = self.below(dir).filter(|(path, _)| !path[1..].contains('/'));
        Answer::Names(
            entries.map(|(path, node)| (path[1..].to_string(), *node == Node::Dir)).collect(),
        )
    }

    fn has_parent(&self, path: &str) -> bool {
        path.rsplit_once('/').is_some_and(|(dir, _)| self.nodes.get(dir) == Some(&Node::Dir))
    }

    pub(super) fn create(&mut self, path: &str, node: Node) -> Answer {
        if self.nodes.contains_key(path) {
            return Answer::Failed(EEXIST);
        }
        if !self.has_parent(path) {
            return Answer::Failed(ENOENT);
        }
        self.nodes.insert(path.into(), node);
        Answer::Done
    }

    pub(super) fn link(&mut self, from: &str, to: &str) -> Answer {
        match self.nodes.get(from).cloned() {
            Some(node @ Node::File(_)) => self.create(to, node),
            Some(Node::Dir) => Answer::Failed(EISDIR),
            None => Answer::Failed(ENOENT),
        }
    }

    fn take(&mut self, path: &str) -> Vec<(String, Node)> {
        let mut taken: Vec<(String, Node)> =
            self.below(path).map(|(rest, node)| (rest.to_string(), node.clone())).collect();
        taken.extend(self.nodes.get(path).map(|node| (String::new(), node.clone())));
        for (rest, _) in &taken {
            self.nodes.remove(format!("{path}{rest}").as_str());
        }
        taken
    }

    fn give(&mut self, path: &str, taken: Vec<(String, Node)>) {
        for (rest, node) in taken {
            self.nodes.insert(format!("{path}{rest}").into(), node);
        }
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> Answer {
        let empty = self.below(to).next().is_none();
        match (self.nodes.get(from), self.nodes.get(to)) {
            (None, _) => return Answer::Failed(ENOENT),
            (Some(Node::Dir), Some(Node::Dir)) if !empty => return Answer::Failed(ENOTEMPTY),
            (Some(Node::Dir), Some(Node::File(_))) => return Answer::Failed(ENOTDIR),
            (Some(Node::File(_)), Some(Node::Dir)) => return Answer::Failed(EISDIR),
            _ if !self.has_parent(to) => return Answer::Failed(ENOENT),
            _ => {}
        }
        let taken = self.take(from);
        self.give(to, taken);
        Answer::Done
    }

    pub(super) fn rename_new(&mut self, from: &str, to: &str) -> Answer {
        if self.nodes.contains_key(to) { Answer::Failed(EEXIST) } else { self.rename(from, to) }
    }

    pub(super) fn exchange(&mut self, a: &str, b: &str) -> Answer {
        if !self.nodes.contains_key(a) || !self.nodes.contains_key(b) {
            return Answer::Failed(ENOENT);
        }
        let (at_a, at_b) = (self.take(a), self.take(b));
        self.give(a, at_b);
        self.give(b, at_a);
        Answer::Done
    }

    pub(super) fn remove_file(&mut self, path: &str) -> Answer {
        match self.nodes.get(path) {
            Some(Node::File(_)) => {
                self.nodes.remove(path);
                Answer::Done
            }
            Some(Node::Dir) => Answer::Failed(EISDIR),
            None => Answer::Failed(self.missing(path)),
        }
    }

    pub(super) fn remove_dir(&mut self, path: &str) -> Answer {
        match self.nodes.get(path) {
            Some(Node::Dir) if self.below(path).next().is_some() => Answer::Failed(ENOTEMPTY),
            Some(Node::Dir) => {
                self.nodes.remove(path);
                Answer::Done
            }
            Some(Node::File(_)) => Answer::Failed(ENOTDIR),
            None => Answer::Failed(self.missing(path)),
        }
    }

    /// Takes a lock; false if anybody holds it.
    pub(super) fn lock(&mut self, path: &str, process: usize) -> Answer {
        if !self.has_parent(path) {
            return Answer::Failed(ENOENT);
        }
        if self.locks.contains_key(path) {
            return Answer::Taken(false);
        }
        self.locks.insert(path.into(), process);
        let empty = File { id: 0, bytes: Arc::from([]) };
        self.nodes.entry(path.into()).or_insert(Node::File(empty));
        Answer::Taken(true)
    }

    /// A process is no more: so are its locks.
    pub(super) fn unlock(&mut self, process: usize) {
        self.locks.retain(|_, owner| *owner != process);
    }

    /// Another tool puts its file in place of the data of a directory.
    pub(super) fn replace_data(&mut self, dir: &str, path: &str, file: File) {
        let data = |(path, node): (&str, &Node)| {
            (*node != Node::Dir && path.ends_with(".parquet")).then(|| format!("{dir}{path}"))
        };
        for path in self.below(dir).filter_map(data).collect::<Vec<_>>() {
            self.nodes.remove(path.as_str());
        }
        self.nodes.insert(dir.into(), Node::Dir);
        self.put(path, file);
    }

    /// The put that was on its way arrives, if its place is free still.
    pub(super) fn arrive(&mut self) {
        if let Some((key, file)) = self.on_its_way.take() {
            self.nodes.entry(key).or_insert(Node::File(file));
        }
    }

    /// The data of the table, by partition directory: the first byte of each file.
    pub(super) fn listed(&self) -> super::state::Content {
        let mut content = super::state::Content::new();
        for (path, node) in self.below(TABLE_DIR) {
            if let (Some((dir, name)), Node::File(file)) = (path[1..].split_once('/'), node)
                && name.ends_with(".parquet")
            {
                content.entry(dir.to_string()).or_default().insert(file.bytes[0]);
            }
        }
        content
    }
}
