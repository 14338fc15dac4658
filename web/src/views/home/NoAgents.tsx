/** In place of the form for a new thread: no agent can be started yet. */

import { go, pathOf } from "../../app/route.ts";

export default function NoAgents({ error }: { error: string | undefined }) {
  const agents = { view: "agents" } as const;
  return (
    <div class="home-none">
      {error !== undefined && <p class="error-text">{error}</p>}
      <p>
        <strong>No agents are installed yet.</strong> Agents lists the known agents, and what each of them needs.
      </p>
      <p>
        <a
          class="button primary"
          href={pathOf(agents)}
          onClick={(event) => {
            event.preventDefault();
            go(agents);
          }}
        >
          Set one up
        </a>
      </p>
      <p class="hint">
        To try acpd without an agent, restart it with <code>acpd serve --demo</code>.
      </p>
    </div>
  );
}
