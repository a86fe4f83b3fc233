//! `FROM FILES 'landing/' OPTIONS ('format' 'json', 'max_files_per_trigger' '100')`.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::json::JsonFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::execution::context::SessionState;
use object_store::path::Path;
use partwise_commit::{Location, Table};

use super::FilesSource;
use super::folder::Folder;
use super::headers::Csv;
use super::list::{as_meta, list};
use crate::definition::StreamDefinition;
use crate::source::{SourceFactory, StreamSource};
use crate::{Error, Options, Result};

/// What the files are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileFormatName {
    /// Parquet.
    #[default]
    Parquet,
    /// One JSON object per line.
    Json,
    /// CSV; the first line names the columns unless `header` is `false`.
    Csv,
}

impl FileFormatName {
    /// The word in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Json => "json",
            Self::Csv => "csv",
        }
    }

    /// What the names of such files end in, behind a dot.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Parquet => &["parquet"],
            Self::Json => &["json", "jsonl", "ndjson"],
            Self::Csv => &["csv"],
        }
    }

    /// Whether a name is one of such a file.
    pub(super) fn names(self, file: &Path) -> bool {
        let ends = |extension: &str| {
            self.extensions().iter().any(|ours| ours.eq_ignore_ascii_case(extension))
        };
        file.extension().is_some_and(ends)
    }

    /// The endings, in words.
    pub(super) fn endings(self) -> String {
        let endings: Vec<_> = self.extensions().iter().map(|e| format!(".{e}")).collect();
        endings.join(" or ")
    }

    fn of(text: &str) -> Result<Self> {
        let all = [Self::Parquet, Self::Json, Self::Csv];
        all.into_iter().find(|format| format.name().eq_ignore_ascii_case(text)).ok_or_else(|| {
            Error::invalid(format!("format '{text}': files are parquet, json or csv"))
        })
    }
}

/// Makes sources of files.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilesFactory;

#[async_trait]
impl SourceFactory for FilesFactory {
    async fn source(
        &self,
        state: &SessionState,
        definition: &StreamDefinition,
    ) -> Result<Arc<dyn StreamSource>> {
        let mut options = Options::new("FROM FILES", &definition.options);
        let format_name = options.take("format").map(|text| FileFormatName::of(&text));
        let format_name = format_name.transpose()?.unwrap_or_default();
        let csv = csv(format_name, &mut options)?;
        let format = format(format_name, csv);
        let max_files = options.number("max_files_per_trigger")?;
        let max_files = max_files.map(|files| usize::try_from(files).unwrap_or(usize::MAX));
        options.end()?;
        let folder = folder(definition).await?;
        let schema = match &definition.columns {
            Some(columns) => Arc::clone(columns),
            None => inferred(state, &folder, format_name, format.as_ref()).await?,
        };
        Ok(Arc::new(FilesSource { folder, format_name, format, schema, max_files, csv }))
    }
}

async fn folder(definition: &StreamDefinition) -> Result<Folder> {
    let path = definition.path.as_deref();
    let path =
        path.ok_or_else(|| Error::invalid("FROM FILES needs a folder: FROM FILES 'landing/'"))?;
    let folder = Folder::parse(path)?;
    if !folder.is_there().await? {
        return Err(Error::invalid(format!(
            "there is no folder {folder}: make it first, or correct FROM FILES '{path}'"
        )));
    }
    refuse_table(&folder).await?;
    Ok(folder)
}

/// What replaces its files with other ones of the same rows isn't a folder that files arrive in.
async fn refuse_table(folder: &Folder) -> Result<()> {
    let Some(dir) = folder.dir() else { return Ok(()) };
    let kind = match Table::new(Location::local(dir)).is_logged().await? {
        true => "a table of Partwise",
        false if dir.join("_delta_log").is_dir() => "a Delta table",
        false => return Ok(()),
    };
    Err(Error::refused(format!(
        "{folder} is {kind}: OPTIMIZE, an overwrite or a MERGE writes its rows into new files, which \
         would be read again. A stream reads the folder that files arrive in; a table is read as it \
         is by an INSERT, or joined to a stream"
    )))
}

/// How CSV files are written; none for other formats.
fn csv(name: FileFormatName, options: &mut Options) -> Result<Option<Csv>> {
    let (header, delimiter) = (options.flag("header", true)?, options.take("delimiter"));
    if name != FileFormatName::Csv {
        return match delimiter.is_some() || !header {
            true => Err(Error::invalid("header and delimiter are options of csv")),
            false => Ok(None),
        };
    }
    let delimiter = match delimiter.as_deref().map(str::as_bytes) {
        None => b',',
        Some([byte]) => *byte,
        Some(_) => return Err(Error::invalid("delimiter is one character")),
    };
    Ok(Some(Csv { header, delimiter }))
}

fn format(name: FileFormatName, csv: Option<Csv>) -> Arc<dyn FileFormat> {
    match (name, csv) {
        (FileFormatName::Json, _) => Arc::new(JsonFormat::default()),
        (_, Some(Csv { header, delimiter })) => {
            let format = CsvFormat::default().with_has_header(header).with_delimiter(delimiter);
            // A line break within quotes would be where a large file is cut in parts.
            Arc::new(format.with_newlines_in_values(true))
        }
        _ => Arc::new(ParquetFormat::default()),
    }
}

/// The columns of the files that are there.
async fn inferred(
    state: &SessionState,
    folder: &Folder,
    name: FileFormatName,
    format: &dyn FileFormat,
) -> Result<SchemaRef> {
    let store = state.runtime_env().object_store(folder.url())?;
    let found = list(store.as_ref(), folder, name).await?;
    if found.files.is_empty() {
        return Err(Error::invalid(format!(
            "{folder} holds no {} file yet ({}), so its columns can't be told: declare them, CREATE \
             STREAM s (a BIGINT, ..) FROM FILES ..",
            name.name(),
            name.endings()
        )));
    }
    let files = found.files.iter().map(as_meta).collect::<Result<Vec<_>>>()?;
    Ok(format.infer_schema(state, &store, &files).await?)
}
