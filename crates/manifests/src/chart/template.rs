//! An object in which expressions replace values.

use serde_json::Value;

use crate::yaml;

/// What an expression replaces in the text: the marker, or every line with the marker.
#[derive(Debug)]
enum Replacement {
    Inline(String),
    Lines(Vec<String>),
}

/// An object with markers, each of which stands for an expression.
#[derive(Debug)]
pub(super) struct Template {
    object: Value,
    replacements: Vec<Replacement>,
}

/// Several lines, such as a condition around an item of a list.
pub(super) fn block<const N: usize>(lines: [&str; N]) -> Vec<String> {
    lines.map(str::to_owned).to_vec()
}

impl Template {
    pub(super) fn new(object: &impl serde::Serialize) -> Self {
        Self {
            object: serde_json::to_value(object).expect("API objects have string keys"),
            replacements: Vec::new(),
        }
    }

    /// Replaces the value at a JSON pointer by an expression.
    pub(super) fn replace(&mut self, pointer: &str, expression: String) {
        let marker = self.marker(Replacement::Inline(expression));
        *self.at(pointer) = Value::String(marker);
    }

    /// Replaces every string with this value by an expression.
    pub(super) fn replace_all(&mut self, text: &str, expression: &str) {
        let marker = self.marker(Replacement::Inline(expression.to_owned()));
        replace_strings(&mut self.object, text, &marker);
    }

    /// Adds lines at the end of a list.
    pub(super) fn push(&mut self, pointer: &str, lines: Vec<String>) {
        let marker = self.marker(Replacement::Lines(lines));
        let list = self.at(pointer).as_array_mut();
        list.expect("the pointer is that of a list").push(Value::String(marker));
    }

    /// Adds lines to an object, at the place of this key.
    pub(super) fn insert(&mut self, pointer: &str, key: &str, lines: Vec<String>) {
        let marker = self.marker(Replacement::Lines(lines));
        self.at(pointer)[key] = Value::String(marker);
    }

    /// The text of the template, with a line that separates documents.
    pub(super) fn render(&self) -> String {
        let mut text = escape(&yaml::document(&self.object));
        for (index, replacement) in self.replacements.iter().enumerate() {
            let marker = marker(index);
            match replacement {
                Replacement::Inline(expression) => text = text.replace(&marker, expression),
                Replacement::Lines(lines) => text = replace_lines(&text, &marker, lines),
            }
        }
        format!("---\n{text}")
    }

    fn marker(&mut self, replacement: Replacement) -> String {
        self.replacements.push(replacement);
        marker(self.replacements.len() - 1)
    }

    fn at(&mut self, pointer: &str) -> &mut Value {
        let value = self.object.pointer_mut(pointer);
        value.expect("the pointer is that of a value of the object")
    }
}

/// Stands for a replacement; no object contains such a text.
fn marker(index: usize) -> String {
    format!("MARKER-{index}-")
}

fn replace_strings(value: &mut Value, text: &str, marker: &str) {
    match value {
        Value::String(found) if found == text => marker.clone_into(found),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_strings(item, text, marker)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| replace_strings(field, text, marker)),
        _ => {}
    }
}

/// Replaces each line with the marker by these lines, with its indentation.
fn replace_lines(text: &str, marker: &str, lines: &[String]) -> String {
    let mut replaced = String::new();
    for line in text.lines() {
        let indentation = &line[..line.len() - line.trim_start().len()];
        let lines: Vec<&str> = if line.contains(marker) {
            lines.iter().map(String::as_str).collect()
        } else {
            vec![line.trim_start()]
        };
        for line in lines {
            replaced.extend([indentation, line, "\n"]);
        }
    }
    replaced
}

/// Braces of the object itself, such as those of alerts, as Helm prints them unchanged.
fn escape(text: &str) -> String {
    let (open, close) = ("\u{1}", "\u{2}");
    text.replace("{{", open)
        .replace("}}", close)
        .replace(open, "{{ \"{{\" }}")
        .replace(close, "{{ \"}}\" }}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn markers_become_expressions_and_braces_are_escaped() {
        let mut template =
            Template::new(&json!({"a": "here", "list": ["x"], "map": {"k": "v"}, "text": "{{ $value }}"}));
        template.replace_all("here", "{{ .A }}");
        template.push("/list", block(["{{- with .B }}", "- {{ . }}", "{{- end }}"]));
        template.insert("/map", "more", block(["{{ .C }}"]));
        let expected = r#"---
a: {{ .A }}
list:
- x
{{- with .B }}
- {{ . }}
{{- end }}
map:
  k: v
  {{ .C }}
text: "{{ "{{" }} $value {{ "}}" }}"
"#;
        assert_eq!(template.render(), expected);
    }
}
