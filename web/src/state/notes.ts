/**
 * Notices and answers between the items of a conversation: where they stand, and how many of them. The daemon applies the
 * same rules to the turns that it returns (`projection/notes.rs`), so a thread reads the same live and after a reload.
 */

import type { Notice, Resolved, Turn } from "@acpd/client";

import type { FoldedTurn, PlacedAnswer, PlacedNotice, Place, ThreadState } from "./thread.ts";

/** Maximum number of notices and answers at one place. */
const NOTES = 16;

type Notes = Pick<ThreadState, "notices" | "answers">;

/** Returns the notices and answers of loaded turns. */
export function notesOf(turns: readonly Turn[]): Notes {
  return {
    notices: turns.flatMap((turn) =>
      (turn.notices ?? []).map(({ afterItemId, afterTurn, ...notice }) => ({ notice, ...placeIn(turn, afterItemId, afterTurn) })),
    ),
    answers: turns.flatMap((turn) =>
      (turn.answers ?? []).map(({ afterItemId, afterTurn, ...answer }) => ({ ...answer, ...placeIn(turn, afterItemId, afterTurn) })),
    ),
  };
}

/** Adds the notes of older turns. Notes that are in both have the place that the daemon says. */
export function prependNotes(notes: Notes, older: Notes): Notes {
  const known = new Set([...older.notices.map(({ notice }) => notice.seq), ...older.answers.map(({ seq }) => seq)]);
  const notices = [...older.notices, ...notes.notices.filter(({ notice }) => !known.has(notice.seq))];
  const answers = [...older.answers, ...notes.answers.filter(({ seq }) => !known.has(seq))];
  return {
    notices: notices.sort((one, other) => one.notice.seq - other.notice.seq),
    answers: answers.sort((one, other) => one.seq - other.seq),
  };
}

/** Adds a notice where it happened, if there is room. */
export function addNotice(state: ThreadState, notice: Notice): ThreadState {
  const place = placeOf(state);
  return hasRoom(state, place, notice) ? { ...state, notices: [...state.notices, { notice, ...place }] } : state;
}

/** Adds an answer where it happened, if there is room. A question that was closed without an answer leaves nothing. */
export function addAnswer(state: ThreadState, answer: Resolved): ThreadState {
  const place = placeOf(state);
  const isNote = answer.outcome !== "void" && hasRoom(state, place, answer);
  return isNote ? { ...state, answers: [...state.answers, { ...answer, ...place }] } : state;
}

/** Removes the notes of dropped turns. */
export function withoutDropped({ notices, answers }: Notes, kept: readonly FoldedTurn[]): Notes {
  const turns = new Set(kept.map(({ id }) => id));
  const items = new Set(kept.flatMap((turn) => turn.items.map(({ itemId }) => itemId)));
  const stays = ({ afterItemId, afterTurnId }: Place) =>
    afterTurnId !== undefined ? turns.has(afterTurnId) : afterItemId === undefined || items.has(afterItemId);
  return { notices: notices.filter(stays), answers: answers.filter(stays) };
}

/** A note of a conversation. */
export type Note =
  | { readonly seq: number; readonly notice: Notice; readonly answer?: undefined }
  | { readonly seq: number; readonly answer: Resolved; readonly notice?: undefined };

/** The notes that are shown as rows, by their places. */
export interface NotesByPlace {
  readonly early: readonly Note[];
  /** By the ids of items. */
  readonly afterItem: ReadonlyMap<string, readonly Note[]>;
  after(turn: FoldedTurn): readonly Note[];
}

/** Sorts notes by their places. An answer about an item is shown with the item, so it is none of them. */
export function byPlace({ notices, answers }: Notes): NotesByPlace {
  const early: Note[] = [];
  const afterItem = new Map<string, Note[]>();
  const afterTurn = new Map<string, Note[]>();
  const add = (note: Note, { afterItemId, afterTurnId }: Place) => {
    if (afterTurnId !== undefined) {
      push(afterTurn, afterTurnId, note);
    } else if (afterItemId !== undefined) {
      push(afterItem, afterItemId, note);
    } else {
      early.push(note);
    }
  };
  const all: (readonly [Note, Place])[] = [
    ...notices.map((placed: PlacedNotice) => [{ seq: placed.notice.seq, notice: placed.notice }, placed] as const),
    ...answers
      .filter(({ itemId }) => itemId == null)
      .map((answer: PlacedAnswer) => [{ seq: answer.seq, answer }, answer] as const),
  ];
  all.sort(([one], [other]) => one.seq - other.seq).forEach(([note, place]) => add(note, place));
  return { early, afterItem, after: ({ id }) => (id != null && afterTurn.get(id)) || [] };
}

function push<K>(map: Map<K, Note[]>, key: K, note: Note): void {
  const known = map.get(key);
  if (known) {
    known.push(note);
  } else {
    map.set(key, [note]);
  }
}

/** While a turn runs, a note stands after the last item; else after the end of the last turn. */
function placeOf({ head, turns, lastKept }: ThreadState): Place {
  const running = head.turnId == null ? undefined : turns.findLast(({ id }) => id === head.turnId);
  const item = running?.items.at(-1);
  if (item !== undefined) {
    return { afterItemId: item.itemId };
  }
  const last = turns.findLast(({ id, status }) => id != null && status !== "queued");
  const afterTurnId = last?.id ?? lastKept;
  return afterTurnId == null ? {} : { afterTurnId };
}

function placeIn({ id }: Turn, afterItemId?: string | null, afterTurn?: boolean | null): Place {
  return afterTurn && id != null ? { afterTurnId: id } : afterItemId != null ? { afterItemId } : {};
}

function hasRoom({ notices, answers }: Notes, { afterItemId, afterTurnId }: Place, { omitted }: Notice | Resolved): boolean {
  const isHere = (place: Place) => place.afterItemId === afterItemId && place.afterTurnId === afterTurnId;
  return omitted !== true && notices.filter(isHere).length + answers.filter(isHere).length < NOTES;
}
