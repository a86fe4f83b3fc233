//! Catalogs for whoever lists all tables: one that can't be opened doesn't hide the others.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, SchemaProvider, Session, TableProvider,
};
use datafusion::common::Result as DFResult;
use datafusion::datasource::TableType;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;

/// The state, in which a table that can't be opened is one without columns; reading it gives the
/// reason.
pub(crate) fn lenient(state: &SessionState) -> SessionState {
    let mut state = state.clone();
    let catalogs = Arc::clone(state.catalog_list());
    state.register_catalog_list(Arc::new(Catalogs(catalogs)));
    state
}

#[derive(Debug)]
struct Catalogs(Arc<dyn CatalogProviderList>);

impl CatalogProviderList for Catalogs {
    fn register_catalog(
        &self,
        name: String,
        catalog: Arc<dyn CatalogProvider>,
    ) -> Option<Arc<dyn CatalogProvider>> {
        self.0.register_catalog(name, catalog)
    }

    fn catalog_names(&self) -> Vec<String> {
        self.0.catalog_names()
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        self.0.catalog(name).map(|found| Arc::new(Catalog(found)) as _)
    }
}

#[derive(Debug)]
struct Catalog(Arc<dyn CatalogProvider>);

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        self.0.schema_names()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        self.0.schema(name).map(|found| Arc::new(Tables(found)) as _)
    }
}

#[derive(Debug)]
struct Tables(Arc<dyn SchemaProvider>);

#[async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        self.0.table_names()
    }

    async fn table(&self, name: &str) -> DFResult<Option<Arc<dyn TableProvider>>> {
        match self.0.table(name).await {
            Err(error) => Ok(Some(Arc::new(Unopened(Arc::new(error))))),
            found => found,
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        self.0.table_exist(name)
    }
}

/// A table that can't be opened, and why.
#[derive(Debug)]
struct Unopened(Arc<DataFusionError>);

#[async_trait]
impl TableProvider for Unopened {
    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::empty())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        Err(DataFusionError::Shared(Arc::clone(&self.0)))
    }
}
