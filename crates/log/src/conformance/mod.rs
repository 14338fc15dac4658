//! One test suite for every backend: the promises of [`EventLog`](crate::EventLog), as checks that panic if a promise
//! is broken. The suite runs on the tokio runtime of its caller.

#![expect(clippy::unwrap_used, reason = "a check fails by panicking")]

mod append;
mod beside;
mod blob;
mod close;
mod delete;
mod inherit;
mod list;
mod read;
mod read_all;
mod reopen;
mod retention;
pub mod sample;
mod search;
mod turns;

pub use read_all::read_all;

use crate::SharedLog;

/// Checks a backend. `open` returns a log; each call may return the same log or a new one, as long as only the suite
/// uses it. Only [`check_close`] closes a log.
pub async fn check(open: impl AsyncFn() -> SharedLog) {
    append::only_one_run_is_stored(&open().await).await;
    append::a_conflict_changes_nothing(&open().await).await;
    append::the_first_append_brings_a_summary(&open().await).await;
    append::a_summary_is_stored_with_its_events(&open().await).await;
    append::metadata_is_part_of_the_summary(&open().await).await;
    append::one_of_two_racing_callers_wins(&open().await).await;
    append::many_threads_append_at_once(&open().await).await;
    append::order_does_not_need_awaiting(&open().await).await;
    append::an_answer_can_be_dropped(&open().await).await;

    read::every_cursor_reads_the_rest(&open().await).await;
    read::pages_have_a_size(&open().await).await;
    read::a_large_event_comes_alone(&open().await).await;
    read::an_unknown_thread_is_an_error(&open().await).await;
    read::text_is_kept_as_it_came(&open().await).await;

    read::events_are_looked_up_by_number(&open().await).await;

    turns::pages_lead_from_the_end_to_the_beginning(&open().await).await;
    turns::a_page_is_bounded_in_turns_and_bytes(&open().await).await;
    turns::unfinished_items_take_room(&open().await).await;
    turns::unfinished_items_before_the_first_turn_take_room(&open().await).await;
    turns::later_events_and_dropped_turns_do_not_count(&open().await).await;
    turns::notes_are_found_with_their_items(&open().await).await;
    turns::the_end_of_a_turn_is_known(&open().await).await;

    inherit::a_fork_begins_with_the_events_of_its_origin(&open().await).await;
    inherit::a_fork_of_a_fork_has_the_events_of_both(&open().await).await;
    inherit::a_fork_outlives_its_origin(&open().await).await;
    inherit::a_fork_needs_an_origin(&open().await).await;

    beside::a_snapshot_is_found_by_its_event(&open().await).await;
    beside::old_snapshots_are_thinned_out(&open().await).await;
    beside::a_cursor_and_a_memo_are_stored_with_their_events(&open().await).await;
    beside::a_client_turn_is_found(&open().await).await;
    beside::a_claim_is_granted(&open().await).await;
    beside::of_two_claims_only_the_newer_one_may_write(&open().await).await;

    list::newest_first_page_by_page(&open().await).await;
    list::a_page_ends_by_its_bytes(&open().await).await;
    list::paging_is_stable(&open().await).await;
    list::filters_narrow(&open().await).await;
    list::filters_combine(&open().await).await;

    blob::content_has_one_name(&open().await).await;
    blob::content_is_read_in_parts(&open().await).await;
    blob::content_stays_as_long_as_someone_needs_it(&open().await).await;

    retention::the_longest_unused_comes_first(&open().await).await;
    retention::a_thread_is_measured_with_what_it_alone_needs(&open().await).await;
    retention::blobs_are_removed_where_no_used_thread_needs_them(&open().await).await;

    search::words_are_found(&open().await).await;
    search::a_hit_leads_to_its_event(&open().await).await;
    search::newest_hits_come_first(&open().await).await;
    search::one_thread_can_be_searched(&open().await).await;
    search::texts_are_stored_with_their_events(&open().await).await;
    search::dropped_text_is_not_found(&open().await).await;
    search::long_text_is_searched_in_part(&open().await).await;

    delete::a_deleted_thread_is_gone(&open().await).await;
    delete::its_writer_cannot_go_on(&open().await).await;
}

/// Checks how a backend closes. `open` returns a separate log at each call.
pub async fn check_close(open: impl AsyncFn() -> SharedLog) {
    close::everything_is_stored_then_refused(&open().await).await;
}

/// Checks that a durable backend keeps its data. `open` opens the same store at each call. The suite closes the store
/// before the next call.
pub async fn check_reopen(open: impl AsyncFn() -> SharedLog) {
    reopen::everything_is_there(&open).await;
}
