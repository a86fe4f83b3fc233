//! What a store's client says, as a person reads it.

use crate::address::hide_secrets;

/// Where clouds tell a machine of theirs which keys it has.
const METADATA_SERVICES: [&str; 2] = ["http://169.254.169.254", "metadata.google.internal"];

/// How a bucket is named in messages, and what may not be seen in them.
pub(super) struct Shown {
    /// The bucket's address.
    pub(super) address: String,
    /// The longest first.
    pub(super) secrets: Vec<String>,
}

impl Shown {
    /// A client's message: the bucket in front, the server's answer without its tags, secrets
    /// hidden, and where no keys were given, that.
    pub(super) fn words(&self, text: &str) -> String {
        let text = hide_secrets(&without_tags(text), self.secrets.iter().map(String::as_str));
        let hint = match METADATA_SERVICES.iter().any(|service| text.contains(service)) {
            true => format!(
                "no keys were given, in the environment ({}) or in OPTIONS, and this machine has none \
                 of its own: ",
                self.variables()
            ),
            false => String::new(),
        };
        format!("{}: {hint}{text}", self.address)
    }

    fn variables(&self) -> &'static str {
        match self.address.split(':').next() {
            Some("gs") => "GOOGLE_SERVICE_ACCOUNT",
            Some("s3" | "s3a") => "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY",
            _ => "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY",
        }
    }
}

/// A message that ends with a server's XML, with code and message of it alone.
fn without_tags(text: &str) -> String {
    let Some((before, xml)) = text.split_once("<?xml") else { return text.to_owned() };
    let found = ["Code", "Message"].iter().filter_map(|tag| between(xml, tag));
    let found: Vec<&str> = found.collect();
    match found.is_empty() {
        true => text.to_owned(),
        false => format!("{}{}", before, found.join(": ")),
    }
}

fn between<'a>(xml: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        Shown { address: "s3://b".to_owned(), secrets: vec!["hush".to_owned()] }.words(text)
    }

    #[test]
    fn a_servers_answer_is_read_for_its_code_and_message() {
        let text = "404 Not Found: <?xml version=\"1.0\"?><Error><Code>NoSuchUpload</Code>\
                    <Message>There is none</Message><Resource>/k</Resource></Error>";
        assert_eq!(words(text), "s3://b: 404 Not Found: NoSuchUpload: There is none");
        assert_eq!(words("odd <?xml ?>"), "s3://b: odd <?xml ?>");
    }

    #[test]
    fn whoever_gave_no_keys_is_told_how() {
        let said = words("Error performing PUT http://169.254.169.254/latest/api/token");
        assert!(said.contains("AWS_SECRET_ACCESS_KEY") && said.contains("OPTIONS"), "{said}");
        assert!(!words("connection refused").contains("OPTIONS"));
    }
}
