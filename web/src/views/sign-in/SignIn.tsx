/** The sign-in page: names the command that signs in, and takes a token. */

import { useEffect, useRef, useState } from "preact/hooks";

import { enter, sentence, standing } from "../../connection/connection.ts";

import "./sign-in.css";

export default function SignIn() {
  const { value: now } = standing;
  const [token, setToken] = useState("");
  const [error, setError] = useState(now.name === "out" ? now.why : undefined);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (token.trim() === "" || busy) {
      field.current?.focus();
      return;
    }
    setBusy(true);
    try {
      await enter({ token: token.trim() });
    } catch (why) {
      setError(sentence(why));
      setBusy(false);
      field.current?.select();
    }
  };
  return (
    <main class="sign-in">
      <form class="sign-in-card" onSubmit={(event) => void submit(event)}>
        <img src="/favicon.svg" width="40" height="40" alt="" />
        <h1>Sign in to acpd</h1>
        <p>
          Run <code>acpd open</code> in a terminal on the daemon’s host. It opens this page, signed in. For a phone, run <code>acpd pair</code>.
        </p>
        <label class="label" for="token">
          Or enter an access token
        </label>
        <input
          ref={field}
          id="token"
          class="field mono"
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={token}
          aria-invalid={error !== undefined}
          aria-describedby={error === undefined ? "token-hint" : "token-error token-hint"}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        {error !== undefined && (
          <p id="token-error" class="error-text" role="alert">
            {error}
          </p>
        )}
        <button type="submit" class="button primary" disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
        <p id="token-hint" class="hint">
          The owner’s token is in the file <code>token</code> in the daemon’s data directory. Create other tokens with{" "}
          <code>acpd token create</code>. This page does not store it.
        </p>
      </form>
    </main>
  );
}
