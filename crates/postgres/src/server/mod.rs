//! Where the server is, and what of that may be shown.

mod tls;
mod url;

use std::fmt;
use std::time::Duration;

use partwise_stream::Result;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, NoTls};

use crate::trouble::Trouble;

/// The variable that has the password where the url has none.
const PASSWORD_VARIABLE: &str = "PGPASSWORD";
/// How long a connection may take, and how long a silent one is believed in, where the url says
/// nothing.
const CONNECT: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(60);
/// Of that, how long nothing is asked, and how often it is asked then whether anybody is there.
const QUIET: Duration = Duration::from_secs(30);
const PROBES: u32 = 3;
/// What `Config` has where the url says nothing.
const UNSAID_QUIET: Duration = Duration::from_secs(2 * 60 * 60);

/// A server and a database, as the url names them. Neither `Debug` nor `Display` shows user or
/// password.
#[derive(Clone)]
pub(crate) struct Server {
    config: Config,
    tls: Option<tls::Tls>,
}

impl Server {
    /// The server of a url.
    ///
    /// # Errors
    /// A url that can't be read, certificates that can't be found. None of it is repeated: it may
    /// hold a password.
    pub fn new(text: &str) -> Result<Self> {
        let url::Url { mut config, verify, root } = url::Url::parse(text)?;
        if config.get_password().is_none()
            && let Ok(password) = std::env::var(PASSWORD_VARIABLE)
        {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }
        ask_the_silent(&mut config);
        if config.get_application_name().is_none() {
            config.application_name("partwise");
        }
        let encrypted = config.get_ssl_mode() != SslMode::Disable;
        let tls =
            encrypted.then(|| tls::Tls::new(verify, root.as_deref(), config.get_ssl_negotiation()));
        Ok(Self { config, tls: tls.transpose()? })
    }

    /// A new connection, on which locks are waited for so long; its traffic runs in a task that ends
    /// when the client is dropped.
    pub async fn connect(&self, lock_wait: Duration) -> Result<Client, Trouble> {
        let client = match &self.tls {
            None => {
                let (client, connection) = self.config.connect(NoTls).await?;
                tokio::spawn(connection);
                client
            }
            Some(tls) => {
                let (client, connection) = self.config.connect(tls.clone()).await?;
                tokio::spawn(connection);
                client
            }
        };
        // 0 would be without end.
        let milliseconds = lock_wait.as_millis().clamp(1_000, i32::MAX as u128);
        client.batch_execute(&format!("SET lock_timeout = {milliseconds}")).await?;
        Ok(client)
    }
}

/// Has the operating system ask a server that says nothing, where the url doesn't say when: one that
/// has lost its power or its network answers no more, and nothing else tells.
fn ask_the_silent(config: &mut Config) {
    if config.get_keepalives_idle() == UNSAID_QUIET {
        config.keepalives_idle(QUIET);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval((SILENCE - QUIET) / PROBES);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(PROBES);
    }
}

/// `host:port/database`.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = self.config.get_ports();
        for (at, host) in self.config.get_hosts().iter().enumerate() {
            let port = ports.get(at).or(ports.first()).unwrap_or(&5432);
            let comma = if at == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                #[cfg(unix)]
                Host::Unix(path) => write!(f, "{comma}{}:{port}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_server_is_noticed_after_a_minute() {
        let asked = |parameters: &str| {
            let server = Server::new(&format!("postgres://u@db.example/d?{parameters}")).unwrap();
            let config = server.config;
            let (idle, interval) = (config.get_keepalives_idle(), config.get_keepalives_interval());
            (idle.as_secs(), interval.unwrap().as_secs(), config.get_keepalives_retries().unwrap())
        };
        assert_eq!(asked("sslmode=disable"), (30, 10, 3));
        let said = "keepalives_idle=5&keepalives_interval=2&keepalives_retries=9";
        assert_eq!(asked(said), (5, 2, 9));
    }
}
