//! The object store of a process: each request is asked of the script.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartId,
    MultipartUpload, ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};

use super::disk::id_of;
use super::script::{Answer, Kind, Script};
use super::world::{EEXIST, ENOENT, File, HOME, Node, PRECONDITION, UNKNOWN, Upload, World};

#[derive(Clone, Debug)]
pub(super) struct ModelStore {
    pub(super) script: Script,
    /// A mutation: every object looks like the other.
    pub(super) blind: bool,
    /// A mutation: an upload can be completed again and again.
    pub(super) again: bool,
    /// A mutation: a put whose outcome isn't known isn't repeated; its place is read instead.
    pub(super) reads: bool,
}

impl std::fmt::Display for ModelStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("model")
    }
}

fn node(key: &Path) -> String {
    format!("/{key}")
}

/// Keys that say nothing about data: notes of open uploads, markers.
fn is_quiet(key: &str) -> bool {
    let own = key.strip_prefix(HOME).is_some_and(|key| key.starts_with("/staging"));
    own || key.contains("/_SUCCESS") || key.contains("/_partwise-")
}

fn failed(errno: i32, key: &str) -> object_store::Error {
    let (path, source) = (key.to_string(), "so the model says".into());
    match errno {
        ENOENT => object_store::Error::NotFound { path, source },
        EEXIST => object_store::Error::AlreadyExists { path, source },
        UNKNOWN => object_store::Error::Generic { store: "model", source },
        _ => object_store::Error::Precondition { path, source },
    }
}

impl ModelStore {
    /// One request; for ever on its way if the step is over before it.
    async fn call(
        &self,
        kind: Kind,
        key: &str,
        act: impl FnOnce(&mut World) -> Answer,
    ) -> Result<Answer> {
        let answer = self.script.call(kind, act);
        match answer {
            Some(Answer::Failed(errno)) => Err(failed(errno, key)),
            Some(answer) => Ok(answer),
            None => std::future::pending().await,
        }
    }

    async fn change(&self, key: &str, act: impl FnOnce(&mut World) -> Answer) -> Result<Answer> {
        self.call(if is_quiet(key) { Kind::Quiet } else { Kind::Change }, key, act).await
    }

    fn meta(&self, key: &str, size: u64, id: u64) -> ObjectMeta {
        let id = if self.blind && key.ends_with(".parquet") { 0 } else { id };
        ObjectMeta {
            location: Path::parse(key).unwrap(),
            last_modified: DateTime::<Utc>::UNIX_EPOCH,
            size,
            e_tag: Some(id.to_string()),
            version: None,
        }
    }

    async fn objects(&self, prefix: String) -> Result<Vec<ObjectMeta>> {
        let found = self.call(Kind::Look, &prefix, |world| world.objects(&prefix)).await?;
        let Answer::Objects(objects) = found else { panic!("{found:?}") };
        Ok(objects.into_iter().map(|(key, size, id)| self.meta(&key, size, id)).collect())
    }
}

#[async_trait]
impl ObjectStore for ModelStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let key = node(location);
        let bytes: Arc<[u8]> = Bytes::from(payload).as_ref().into();
        // The same content is the same object, however the requests interleave.
        let id = id_of(&format!("{key}{bytes:?}"));
        let expected = match options.mode {
            PutMode::Overwrite => None,
            PutMode::Create => Some(None),
            PutMode::Update(version) => Some(version.e_tag),
        };
        let logs = key.contains("/log/");
        self.change(&key, |world| {
            if logs && std::mem::take(&mut world.loses) {
                world.on_its_way = Some((key.as_str().into(), File { id, bytes }));
                return Answer::Failed(UNKNOWN);
            }
            let found = world.file(&key).map(|file| file.id.to_string());
            if self.reads && logs && found.is_none() && world.on_its_way.is_some() {
                return Answer::Failed(UNKNOWN);
            }
            match expected {
                Some(None) if found.is_some() => return Answer::Failed(EEXIST),
                Some(expected) if expected != found => return Answer::Failed(PRECONDITION),
                _ => {}
            }
            world.put(&key, File { id, bytes });
            Answer::Done
        })
        .await?;
        Ok(PutResult { e_tag: Some(id.to_string()), version: None })
    }

    async fn put_multipart_opts(
        &self,
        _location: &Path,
        _options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(object_store::Error::NotImplemented {
            operation: "put_multipart_opts".into(),
            implementer: "model".into(),
        })
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let key = node(location);
        let found = self
            .call(Kind::Look, &key, |world| match world.file(&key) {
                Some(file) => Answer::Object(Arc::clone(&file.bytes), file.id),
                None => Answer::Failed(ENOENT),
            })
            .await?;
        let Answer::Object(bytes, id) = found else { panic!("{found:?}") };
        let meta = self.meta(&key, bytes.len() as u64, id);
        if options.if_match.is_some() && options.if_match != meta.e_tag {
            return Err(failed(PRECONDITION, &key));
        }
        let range = match options.range {
            Some(GetRange::Bounded(Range { start, end })) => start..end.min(meta.size),
            _ => 0..meta.size,
        };
        let wanted = Bytes::copy_from_slice(&bytes[range.start as usize..range.end as usize]);
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream::iter([Ok(wanted)]).boxed()),
            meta,
            range,
            attributes: Default::default(),
        })
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        let deleted = locations.then(move |location| {
            let store = store.clone();
            async move {
                let location = location?;
                let key = node(&location);
                store.change(&key, |world| world.remove_file(&key)).await.map(|_| location)
            }
        });
        deleted.boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (store, prefix) = (self.clone(), prefix.map(node).unwrap_or_default());
        async move { store.objects(prefix).await }
            .map(|found| match found {
                Ok(objects) => stream::iter(objects.into_iter().map(Ok)).boxed(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            })
            .flatten_stream()
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let prefix = prefix.map(node).unwrap_or_default();
        let mut listed = ListResult { common_prefixes: Vec::new(), objects: Vec::new() };
        for object in self.objects(prefix.clone()).await? {
            let key = node(&object.location);
            match key[prefix.len() + 1..].split_once('/') {
                Some((dir, _)) => {
                    listed.common_prefixes.push(Path::parse(format!("{prefix}/{dir}")).unwrap());
                }
                None => listed.objects.push(object),
            }
        }
        listed.common_prefixes.dedup();
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, _options: CopyOptions) -> Result<()> {
        let (from, to) = (node(from), node(to));
        let copied = self.change(&to, |world| match world.file(&from).cloned() {
            Some(file) => {
                world.put(&to, File { id: id_of(&format!("{to}{:?}", file.bytes)), ..file });
                Answer::Done
            }
            None => Answer::Failed(ENOENT),
        });
        copied.await.map(|_| ())
    }
}

#[async_trait]
impl MultipartStore for ModelStore {
    async fn create_multipart(&self, path: &Path) -> Result<MultipartId> {
        let key = node(path);
        let upload = Upload { key: key.as_str().into(), bytes: Arc::from([]), open: true };
        self.call(Kind::Quiet, &key, |world| {
            world.uploads.insert(key.clone(), upload);
            Answer::Done
        })
        .await?;
        Ok(key)
    }

    async fn put_part(
        &self,
        _path: &Path,
        id: &MultipartId,
        _part: usize,
        data: PutPayload,
    ) -> Result<PartId> {
        let data = Bytes::from(data);
        self.call(Kind::Quiet, id, |world| match world.uploads.get_mut(id) {
            Some(upload) => {
                upload.bytes = upload.bytes.iter().chain(data.as_ref()).copied().collect();
                Answer::Done
            }
            None => Answer::Failed(ENOENT),
        })
        .await?;
        Ok(PartId { content_id: "1".into() })
    }

    async fn complete_multipart(
        &self,
        path: &Path,
        id: &MultipartId,
        _parts: Vec<PartId>,
    ) -> Result<PutResult> {
        let (key, again) = (node(path), self.again);
        let e_tag = id_of(&key);
        self.call(Kind::Change, id, |world| {
            let found = world.uploads.get_mut(id).filter(|upload| upload.open || again);
            let Some(upload) = found else { return Answer::Failed(ENOENT) };
            upload.open = false;
            let bytes = Arc::clone(&upload.bytes);
            world.put(&key, File { id: e_tag, bytes });
            Answer::Done
        })
        .await?;
        Ok(PutResult { e_tag: Some(e_tag.to_string()), version: None })
    }

    async fn abort_multipart(&self, _path: &Path, id: &MultipartId) -> Result<()> {
        let aborted = self.call(Kind::Change, id, |world| match world.uploads.remove(id) {
            Some(_) => Answer::Done,
            None => Answer::Failed(ENOENT),
        });
        aborted.await.map(|_| ())
    }
}

impl World {
    fn objects(&self, prefix: &str) -> Answer {
        let below = format!("{prefix}/");
        let nodes = self.nodes.iter().filter(|(key, _)| key.starts_with(&below));
        let objects = nodes.filter_map(|(key, node)| match node {
            Node::File(file) => Some((key.to_string(), file.bytes.len() as u64, file.id)),
            Node::Dir => None,
        });
        Answer::Objects(objects.collect())
    }
}
