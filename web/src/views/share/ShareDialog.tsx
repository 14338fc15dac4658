/** The links with which a thread is shared: makes one, shows it once, and revokes any. */

import type { ThreadShare, ThreadSummary } from "@acpd/client";
import { useEffect, useRef, useState } from "preact/hooks";

import { copyText } from "../../app/clipboard.ts";
import { announce } from "../../app/live-region.ts";
import { attempt } from "../../app/threads.ts";
import { toast } from "../../app/toasts.ts";
import { client, online, sentence } from "../../connection/connection.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import { dayAndClock } from "../../text/format.ts";
import { Dialog } from "../parts/Dialog.tsx";

import "./share.css";

export interface ShareDialogProps {
  thread: Pick<ThreadSummary, "id" | "name">;
  onClose: () => void;
}

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** The lifetimes that the dialog offers, in seconds. */
const LIFETIMES: readonly [number, string][] = [
  [HOUR, "1 hour"],
  [DAY, "1 day"],
  [7 * DAY, "7 days"],
  [30 * DAY, "30 days"],
  [365 * DAY, "1 year"],
];

/** Addresses that lead to each reader's own device. */
const LOOPBACK = /^(localhost|127\.|\[::1\]|.*\.localhost$)/;

export default function ShareDialog({ thread: { id: threadId }, onClose }: ShareDialogProps) {
  const [links, setLinks] = useState<readonly ThreadShare[]>();
  const [error, setError] = useState<string>();
  const look = () => {
    if (!online.value) {
      return;
    }
    setError(undefined);
    client.peek()?.call("thread/share/list", { threadId }).then(
      ({ data }) => setLinks(data),
      (why: unknown) => setError(sentence(why)),
    );
  };
  useEffect(look, [threadId, online.value]);
  const revoke = async (link: ThreadShare) => {
    if (await attempt("Couldn’t revoke the link", (now) => now.call("thread/share/revoke", { shareId: link.id }))) {
      announce("Revoked the link");
    }
    look();
  };
  return (
    <Dialog title="Share thread" onClose={onClose}>
      <NewLink threadId={threadId} onMade={look} />
      {error !== undefined && (
        <p class="error-text" role="alert">
          Couldn’t load the links: {error}
        </p>
      )}
      {links !== undefined && links.length > 0 && (
        <>
          <h3 class="share-list-head">Links</h3>
          <ul role="list" class="share-list">
            {links.map((link) => (
              <li key={link.id}>
                <span class="truncate">
                  <span class="truncate">{visibleLine(link.name ?? "Unnamed link")}</span>
                  <span class="hint">
                    by {visibleLine(link.createdBy)}, until {dayAndClock(link.expiresAt)}
                  </span>
                </span>
                <button
                  type="button"
                  class="button danger"
                  aria-label={`Revoke ${visibleLine(link.name ?? "unnamed link")}, until ${dayAndClock(link.expiresAt)}`}
                  onClick={() => void revoke(link)}
                >
                  Revoke
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  );
}

function NewLink({ threadId, onMade }: { threadId: string; onMade: () => void }) {
  const [secs, setSecs] = useState(7 * DAY);
  const [name, setName] = useState("");
  const [link, setLink] = useState<string>();
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), [link]);
  const create = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    await attempt("Couldn’t share the thread", async (now) => {
      const wished = name.trim() === "" ? {} : { name: name.trim() };
      const { secret } = await now.call("thread/share/create", { threadId, expiresInSecs: secs, ...wished });
      setLink(`${location.origin}/#share=${secret}`);
      setName("");
    });
    setBusy(false);
    onMade();
  };
  const copy = async () => {
    const copied = link !== undefined && (await copyText(link));
    toast(copied ? "Copied the link" : "Couldn’t copy the link", copied ? {} : { kind: "error" });
  };
  return (
    <form class="share-form" onSubmit={(event) => void create(event)}>
      <p class="hint">
        Anyone with the link can read this whole thread, also what follows, until the link expires or is revoked: messages, files, commands
        and their output, and who took part. Nothing else can be read with it.
      </p>
      <label class="label" for="share-expiry">
        Expires after
      </label>
      <select id="share-expiry" class="field" value={secs} onChange={(event) => setSecs(Number(event.currentTarget.value))}>
        {LIFETIMES.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <label class="label" for="share-name">
        Name
      </label>
      <input
        id="share-name"
        class="field"
        value={name}
        maxLength={80}
        placeholder="Optional, for this list only"
        onInput={(event) => setName(event.currentTarget.value)}
      />
      {link !== undefined && (
        <div>
          <label class="label" for="share-link">
            New link
          </label>
          <div class="share-link">
            <input ref={field} id="share-link" class="field mono" readOnly value={link} />
            <button type="button" class="button" onClick={() => void copy()}>
              Copy
            </button>
          </div>
          <p class="hint">
            The link is shown only now.
            {LOOPBACK.test(location.hostname) &&
              " Its address works on this computer only: to share with others, open acpd at the address that they use."}
          </p>
        </div>
      )}
      <div class="dialog-foot">
        <button type="submit" class="button primary" disabled={busy}>
          Create link
        </button>
      </div>
    </form>
  );
}
