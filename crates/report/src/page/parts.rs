//! The parts of a page: figures, cards, legends, tables.

use super::plot::Pen;
use super::text::escape;
use std::fmt::Write;

/// A figure with its title and the sentence that says how to read it. `inside` is markup.
pub fn figure(title: &str, reading: &str, inside: &str) -> String {
    let (title, reading) = (escape(title), escape(reading));
    format!("<figure><figcaption><b>{title}</b><span>{reading}</span></figcaption>{inside}</figure>")
}

/// A key figure with its meaning.
pub fn card(name: &str, value: &str, meaning: &str) -> String {
    let (name, value, meaning) = (escape(name), escape(value), escape(meaning));
    format!(r#"<div class="card"><h3>{name}</h3><b>{value}</b><p>{meaning}</p></div>"#)
}

/// The names of curves, with a sample of each.
pub fn lines_legend<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let sample = |pen: Pen| format!(r#"<path class="line {}" d="M0 5H26"/>"#, pen.class());
    legend(names.enumerate().map(|(at, name)| (sample(Pen::number(at)), name)))
}

/// The names of areas, each with its class.
pub fn areas_legend<'a>(names: impl Iterator<Item = (String, &'a str)>) -> String {
    let sample = |class: &str| format!(r#"<rect class="bar {class}" width="26" height="10" rx="2"/>"#);
    legend(names.map(|(class, name)| (sample(&class), name)))
}

fn legend<'a>(entries: impl Iterator<Item = (String, &'a str)>) -> String {
    let mut list = String::from(r#"<ul class="legend">"#);
    for (at, (sample, name)) in entries.enumerate() {
        let name = escape(name);
        let _ = write!(
            list,
            r#"<li data-key="{at}"><svg viewBox="0 0 26 10" aria-hidden="true">{sample}</svg>{name}</li>"#
        );
    }
    list + "</ul>"
}

/// One field of a table.
pub struct Field {
    text: String,
    /// In small letters below it.
    remark: String,
    /// Its class in the style sheet, if it has one.
    class: &'static str,
}

impl Field {
    /// A plain field.
    pub fn new(text: String) -> Self {
        Self { text, remark: String::new(), class: "" }
    }

    /// A field that stands out if it is the best of its column.
    pub fn best(text: String, best: bool) -> Self {
        Self { class: if best { "best" } else { "" }, ..Self::new(text) }
    }

    /// Sentences; what is between two backticks is a name.
    pub fn saying(text: String) -> Self {
        Self { class: "says", ..Self::new(text) }
    }

    /// The same with a remark below it.
    pub fn remarking(self, remark: impl Into<String>) -> Self {
        Self { remark: remark.into(), ..self }
    }

    /// A field that stands out as a warning, if it is one.
    pub fn warning(text: String, warning: bool) -> Self {
        Self { class: if warning { "bad" } else { "" }, ..Self::new(text) }
    }

    /// The same with a class of the style sheet.
    pub fn marked(self, class: &'static str) -> Self {
        Self { class, ..self }
    }

    fn markup(&self) -> String {
        let mut markup = String::new();
        for (at, part) in self.text.split(if self.class == "says" { '`' } else { '\0' }).enumerate() {
            let part = escape(part);
            let _ = if at % 2 == 0 { write!(markup, "{part}") } else { write!(markup, "<b>{part}</b>") };
        }
        if !self.remark.is_empty() {
            let _ = write!(markup, "<small>{}</small>", escape(&self.remark));
        }
        markup
    }
}

/// A table; the first field of each row is its name.
pub fn table(class: &str, head: &[&str], rows: &[Vec<Field>]) -> String {
    let mut text = format!(r#"<div class="table {class}"><table><thead><tr>"#);
    for name in head {
        let _ = write!(text, "<th>{}</th>", escape(name));
    }
    text.push_str("</tr></thead><tbody>");
    for row in rows {
        text.push_str("<tr>");
        for (at, field) in row.iter().enumerate() {
            let tag = if at == 0 { "th" } else { "td" };
            let class =
                if field.class.is_empty() { String::new() } else { format!(r#" class="{}""#, field.class) };
            let _ = write!(text, "<{tag}{class}>{}</{tag}>", field.markup());
        }
        text.push_str("</tr>");
    }
    text + "</tbody></table></div>"
}
