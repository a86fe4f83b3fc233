//! Secrets stay out of messages.

/// What stands in a text where a secret was.
const HIDDEN: &str = "***";

/// Parts of the names of options and variables whose values nobody may see.
const SECRET_NAMES: [&str; 12] = [
    "secret",
    "password",
    "passphrase",
    "token",
    "account_key",
    "access_key",
    "credential",
    "service_account",
    "encryption_key",
    "key_pem",
    "jaas",
    "oauthbearer_config",
];

/// Names that hold one of those parts and are no secret: key ids, and files that hold one.
const PLAIN_NAMES: [&str; 6] = [
    "access_key_id",
    "token_file",
    "client_secret_file",
    "credentials_file",
    "service_account_path",
    "use_azure_cli",
];

/// Whether an option of this name, `aws.secret_access_key`, holds a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('.', "_");
    let plain = PLAIN_NAMES.iter().any(|plain| name.ends_with(plain));
    let sse = name.contains("customer_key");
    let sas = name.split('_').any(|part| part == "sas");
    !plain && (sse || sas || SECRET_NAMES.iter().any(|secret| name.contains(secret)))
}

/// A text with each of these secrets hidden.
pub fn hide_secrets<'a>(text: &str, secrets: impl IntoIterator<Item = &'a str>) -> String {
    let hide = |text: String, secret: &str| match secret.is_empty() {
        true => text,
        false => text.replace(secret, HIDDEN),
    };
    secrets.into_iter().fold(text.to_owned(), hide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_opens_a_door_is_secret_and_what_names_it_is_not() {
        for name in [
            "aws.secret_access_key",
            "AWS_SECRET_ACCESS_KEY",
            "aws.session_token",
            "azure.account_key",
            "azure.access_key",
            "AZURE_STORAGE_SAS_TOKEN",
            "azure.client_secret",
            "gcp.service_account_key",
            "aws.sse_customer_key_base64",
            "postgres.password",
            "ssl.key.pem",
            "sasl.oauthbearer.config",
            "azure.sas",
            "key.passphrase",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "aws.access_key_id",
            "aws.region",
            "aws.endpoint",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "gcp.service_account_path",
            "compression",
            "kafka.sasl.username",
            "kafka.sasl.mechanisms",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn a_secret_is_hidden_wherever_it_stands() {
        assert_eq!(hide_secrets("a=hush&b=hush", ["hush", ""]), "a=***&b=***");
    }
}
