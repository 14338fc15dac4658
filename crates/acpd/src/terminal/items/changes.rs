//! The changed lines of a file.

/// Number of unchanged lines that are shown around the changed ones.
const AROUND: usize = 3;

/// Returns the path, and the lines between the first and the last change: removed ones, then added ones. Takes time in
/// proportion to the texts, whatever an agent sends.
pub fn changed_lines(path: &str, old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
    let same = |pairs: &mut dyn Iterator<Item = (&str, &str)>| pairs.take_while(|(a, b)| a == b).count();
    let head = same(&mut old.iter().copied().zip(new.iter().copied()));
    let tail = same(
        &mut old[head..]
            .iter()
            .copied()
            .rev()
            .zip(new[head..].iter().copied().rev()),
    );
    let mut text = path.replace('\n', "\u{fffd}");
    let mut push = |sign: char, lines: &[&str]| {
        for line in lines {
            text.push_str(&format!("\n{sign}{}", line.trim_end_matches('\n')));
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file");
            }
        }
    };
    push(' ', &old[head.saturating_sub(AROUND)..head]);
    push('-', &old[head..old.len() - tail]);
    push('+', &new[head..new.len() - tail]);
    let end = old.len() - tail;
    push(' ', &old[end..old.len().min(end + AROUND)]);
    text.push('\n');
    text
}

/// Returns the lines with their ends, since a change may be about nothing else.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::changed_lines;

    #[test]
    fn only_what_changed_is_shown_with_a_little_around_it() {
        for (old, new, lines) in [
            ("", "a\nb\n", "p\n+a\n+b\n"),
            ("a\n", "", "p\n-a\n"),
            ("a\na\n", "a\na\na\n", "p\n a\n a\n+a\n"),
            (
                "1\n2\n3\n4\n5\n6\n7\n8\n9",
                "1\n2\n3\n4\nx\n6\n7\n8\n9",
                "p\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n",
            ),
            ("same\n", "same\n", "p\n same\n"),
            ("a\n", "a\r\n", "p\n-a\n+a\r\n"),
            ("a", "a\n", "p\n-a\n\\ No newline at end of file\n+a\n"),
        ] {
            assert_eq!(changed_lines("p", old, new), lines, "{old:?} {new:?}");
        }
    }
}
