//! A text with figures in it.

use super::cell::Product;
use crate::figures::Figures;
use crate::number::without_grouping;

/// A text with `{name}` for figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(pub(super) String);

impl Template {
    /// The text with every figure filled in.
    ///
    /// # Errors
    /// A name that is no figure.
    pub fn filled(&self, figures: &Figures) -> Result<String, String> {
        let mut filled = String::new();
        for part in self.parts() {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Figure(product) => {
                    filled.push_str(&Product::read(product)?.figure(figures)?.to_string());
                }
            }
        }
        Ok(filled)
    }

    /// Whether `text` contains this one; numbers match with and without their commas.
    /// Without figures, any number stands for any figure.
    ///
    /// # Errors
    /// A name that is no figure.
    pub fn is_in(&self, text: &str, figures: Option<&Figures>) -> Result<bool, String> {
        let text = without_grouping(text);
        match figures {
            Some(figures) => Ok(has(&text, &without_grouping(&self.filled(figures)?))),
            None => Ok(self.may_be_in(&text)),
        }
    }

    fn may_be_in(&self, text: &str) -> bool {
        let parts: Vec<Part> = self.parts().collect();
        let starts = text.char_indices().map(|(start, _)| start);
        starts.into_iter().any(|start| {
            let end = parts.iter().try_fold(&text[start..], |rest, part| match part {
                Part::Text(text) => rest.strip_prefix(&*without_grouping(text)),
                Part::Figure(_) => {
                    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
                    (after.len() < rest.len()).then_some(after)
                }
            });
            end.is_some()
        })
    }

    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let pieces = self.0.split('{').enumerate();
        pieces
            .flat_map(|(i, piece)| match piece.split_once('}') {
                Some((name, text)) if i > 0 => [Some(Part::Figure(name)), Some(Part::Text(text))],
                _ => [Some(Part::Text(piece)), None],
            })
            .flatten()
    }
}

/// Whether a text holds another, whose last digit is the last of its number there.
fn has(text: &str, part: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let goes_on = |at: usize| part.ends_with(is_digit) && text[at..].starts_with(is_digit);
    text.match_indices(part).any(|(at, found)| !goes_on(at + found.len()))
}

enum Part<'a> {
    Text(&'a str),
    Figure(&'a str),
}

impl std::fmt::Display for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_finds_its_figures_with_or_without_commas() {
        let figures = Figures::at_scale(1.0).unwrap();
        let template = Template("2024-01 ({january.buckets} -> 10 rows".into());
        let message = "would shrink pickup_month=2024-01 (77,530 -> 10 rows)";
        assert!(template.is_in(message, Some(&figures)).unwrap());
        assert!(template.is_in(&message.replace(',', ""), Some(&figures)).unwrap());
        assert!(!template.is_in(&message.replace("530", "531"), Some(&figures)).unwrap());
    }

    #[test]
    fn a_number_is_not_found_in_a_longer_one() {
        let figures = Figures::at_scale(1.0).unwrap();
        let template = Template("files=1/{days}".into());
        assert!(template.is_in("files=1/91]", Some(&figures)).unwrap());
        assert!(!template.is_in("files=1/910", Some(&figures)).unwrap());
    }

    #[test]
    fn without_figures_any_number_will_do() {
        let template = Template("from {january.buckets} to 10".into());
        assert!(template.is_in("shrink from 1,234 to 10 rows", None).unwrap());
        assert!(!template.is_in("shrink from many to 10 rows", None).unwrap());
    }
}
