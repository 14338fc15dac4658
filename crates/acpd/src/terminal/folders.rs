//! Folders in a column: short, and different where the folders are.

use std::collections::{BTreeMap, BTreeSet};

use unicode_width::UnicodeWidthStr;

use super::plain::visible_line;

/// Returns how each folder is shown: relative to the home directory, and shortened from the left by as many parts as leave it
/// different from the others. A folder that fits into `room` columns is whole, and none takes more.
pub fn shortened<'p>(
    paths: impl IntoIterator<Item = &'p str>,
    home: Option<&str>,
    room: usize,
) -> BTreeMap<&'p str, String> {
    let paths: BTreeSet<&str> = paths.into_iter().collect();
    let whole: BTreeMap<&str, String> = paths.iter().map(|path| (*path, below_home(path, home))).collect();
    let shown = whole.iter().map(|(path, text)| {
        let others = || whole.values().filter(|other| *other != text);
        (*path, short(text, room, others))
    });
    shown.collect()
}

fn below_home(path: &str, home: Option<&str>) -> String {
    let home = home
        .map(|home| home.trim_end_matches('/'))
        .filter(|home| !home.is_empty());
    let below = home.and_then(|home| path.strip_prefix(home));
    let text = match below {
        Some(below) if below.is_empty() || below.starts_with('/') => format!("~{below}"),
        _ => path.to_owned(),
    };
    visible_line(&text)
}

fn short<'o, I: Iterator<Item = &'o String>>(text: &str, room: usize, others: impl Fn() -> I) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    // From the shortest on. A slash at the beginning or behind `~` leaves the path as long as it is.
    let tails = || {
        let slashes = text.trim_end_matches('/').rmatch_indices('/');
        slashes.filter(|(at, _)| *at > 1).map(|(at, _)| &text[at..])
    };
    let is_unique = |tail: &&str| !others().any(|other| other.ends_with(*tail));
    let fitting = tails().take_while(|tail| tail.width() < room).last();
    let tail = fitting.filter(is_unique).or_else(|| tails().find(is_unique));
    let shown = tail.map_or_else(|| text.to_owned(), |tail| format!("…{tail}"));
    cut_left(&shown, room)
}

/// Cuts a text from the left.
fn cut_left(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut begin = text.len();
    for (at, _) in text.char_indices().rev() {
        if text[at..].width() >= room {
            break;
        }
        begin = at;
    }
    format!("…{}", &text[begin..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 28;

    fn shown(paths: &[&str]) -> Vec<String> {
        let shown = shortened(paths.iter().copied(), Some("/home/me"), ROOM);
        paths.iter().map(|path| shown[path].clone()).collect()
    }

    #[test]
    fn a_short_folder_is_whole_and_relative_to_the_home() {
        assert_eq!(
            shown(&["/home/me", "/home/me/src/app", "/home/meme", "/", ""]),
            ["~", "~/src/app", "/home/meme", "/", ""]
        );
        let shown = shortened(["/srv/app"], None, ROOM);
        assert_eq!(shown["/srv/app"], "/srv/app");
        // A root user without a home has none to shorten.
        assert_eq!(shortened(["/srv"], Some("/"), ROOM)["/srv"], "/srv");
    }

    #[test]
    fn a_long_folder_keeps_the_parts_that_others_do_not_have() {
        let long = "/home/me/projects/customers";
        let [one, two, other] = ["acme/website/main", "umbrella/website/main", "acme/website/fix-1"]
            .map(|end| format!("{long}/{end}"));
        assert_eq!(
            shown(&[&one, &two, &other]),
            [
                "…/acme/website/main",
                "…/umbrella/website/main",
                "…/acme/website/fix-1"
            ]
        );
        // A part that does not fit is shown if the folder would look like another without it.
        let [deep, deeper] = ["one", "two"].map(|part| format!("/{part}/a-name-that-is-long/and-another"));
        assert_eq!(shown(&[&deep]), ["…/and-another"]);
        assert_ne!(shown(&[&deep, &deeper])[0], "…/and-another");
        // One folder can be the end of another. Where neither fits, both are cut.
        let [inner, outer] = ["", "/x"].map(|parent| format!("{parent}/a-long-name-of-a-folder/of/website"));
        let cut = shown(&[&inner, &outer]);
        assert!(cut.iter().all(|path| path.ends_with("/of/website")), "{cut:?}");
    }

    #[test]
    fn no_folder_fills_the_line_or_drives_the_terminal() {
        let absurd = format!("/{}", "漢".repeat(2000));
        let shown = shown(&[&absurd, "/a\u{1b}[2J\nb"]);
        assert!(
            shown[0].width() <= ROOM && shown[0].starts_with('…'),
            "{}",
            shown[0]
        );
        assert!(!shown[1].contains(['\u{1b}', '\n']), "{:?}", shown[1]);
    }
}
