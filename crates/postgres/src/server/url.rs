//! Reading a url: libpq's, with its words for how a certificate is checked.

use std::path::PathBuf;

use partwise_stream::{Error, Result};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// How far the server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verify {
    /// Encrypted, whoever answers: `prefer` and `require`, as libpq has it.
    Nothing,
    /// Signed by one that is trusted: `verify-ca`.
    Authority,
    /// That, and made for this host: `verify-full`.
    Host,
}

/// What a url says.
pub(super) struct Url {
    pub config: Config,
    pub verify: Verify,
    /// A file of certificates to trust, in place of the system's.
    pub root: Option<PathBuf>,
}

impl Url {
    /// Reads `postgres://user:password@host:port/database?name=value&..`.
    pub fn parse(text: &str) -> Result<Self> {
        let (before, parameters) = text.split_once('?').unwrap_or((text, ""));
        let (mut mode, mut root, mut rest) = (None, None, Vec::new());
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => mode = Some(ssl_mode(value)?),
                Some(("sslrootcert", value)) => root = Some(PathBuf::from(decoded(value))),
                _ => rest.push(parameter),
            }
        }
        let text = match rest.is_empty() {
            true => before.to_owned(),
            false => format!("{before}?{}", rest.join("&")),
        };
        let schemes = ["postgres://", "postgresql://"];
        if !schemes.iter().any(|scheme| text.starts_with(scheme)) {
            return Err(unreadable());
        }
        let mut config: Config = text.parse().map_err(|_| unreadable())?;
        let (mode, mut verify) = mode.unwrap_or((SslMode::Prefer, Verify::Nothing));
        // As libpq: a file of authorities is there to be asked.
        if root.is_some() && mode == SslMode::Require && verify == Verify::Nothing {
            verify = Verify::Authority;
        }
        config.ssl_mode(mode);
        complete(&mut config)?;
        Ok(Self { config, verify, root })
    }
}

/// Checks the hosts, and names the database.
fn complete(config: &mut Config) -> Result<()> {
    let hosts = config.get_hosts();
    // The end of a password with an `@` would be shown as a host.
    let strange = |host: &Host| matches!(host, Host::Tcp(name) if name.contains(['@', ':']));
    if hosts.is_empty() || hosts.iter().any(strange) {
        return Err(unreadable());
    }
    match (config.get_dbname(), config.get_user()) {
        (None, Some(user)) => {
            let user = user.to_owned();
            config.dbname(user);
            Ok(())
        }
        (None, None) => Err(unreadable()),
        _ => Ok(()),
    }
}

fn ssl_mode(word: &str) -> Result<(SslMode, Verify)> {
    Ok(match word {
        "disable" => (SslMode::Disable, Verify::Nothing),
        "prefer" => (SslMode::Prefer, Verify::Nothing),
        "require" => (SslMode::Require, Verify::Nothing),
        "verify-ca" => (SslMode::Require, Verify::Authority),
        "verify-full" => (SslMode::Require, Verify::Host),
        _ => {
            return Err(Error::invalid(
                "the option 'url' has another sslmode than disable, prefer, require, verify-ca or \
                 verify-full",
            ));
        }
    })
}

/// A path with its `%2F`s as slashes.
fn decoded(value: &str) -> String {
    let bytes = value.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let code = value.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Nothing of the url is repeated: any part of it may be the password.
fn unreadable() -> Error {
    Error::invalid(
        "the option 'url' can't be read: it is postgres://user:password@host:5432/database, with \
         characters such as @ : / ? in user and password as %40 %3A %2F %3F",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_checking_a_certificate() {
        let told = |parameters: &str| {
            let url = Url::parse(&format!("postgres://u@db.example/d?{parameters}")).unwrap();
            (url.config.get_ssl_mode(), url.verify)
        };
        assert_eq!(told(""), (SslMode::Prefer, Verify::Nothing));
        assert_eq!(told("sslmode=disable"), (SslMode::Disable, Verify::Nothing));
        assert_eq!(told("sslmode=require"), (SslMode::Require, Verify::Nothing));
        let with_file = "sslmode=require&sslrootcert=%2Fetc%2Fca.pem&connect_timeout=3";
        assert_eq!(told(with_file), (SslMode::Require, Verify::Authority));
        assert_eq!(told("sslmode=verify-full"), (SslMode::Require, Verify::Host));
        assert_eq!(decoded("%2Fetc%2fca%.pem"), "/etc/ca%.pem");
    }

    #[test]
    fn an_unreadable_url_is_not_repeated() {
        let urls = [
            "postgres://u:s3cr@t@host/db",
            "mysql://u:s3cr@host/db",
            "postgres://u:s3cr@host:port/db",
            "postgres://u:s3cr@host/db?s3cr=1",
            "postgres://u:s3cr@host/db?sslmode=s3cr",
            "s3cr",
            "",
        ];
        for url in urls {
            let error = Url::parse(url).err().unwrap_or_else(|| panic!("{url} was read"));
            assert!(!format!("{error} {error:?}").contains("s3cr"), "{error}");
        }
    }
}
