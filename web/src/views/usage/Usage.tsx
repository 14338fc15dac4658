/** What threads have used: tokens and costs, by day, agent, thread or folder. */

import type { UsageRead, UsageRow } from "@acpd/client";
import { useEffect, useState } from "preact/hooks";

import { go, pathOf } from "../../app/route.ts";
import { client, online, sentence } from "../../connection/connection.ts";
import { costsOf, rowName, shares } from "../../state/usage.ts";
import { count } from "../../text/format.ts";
import { Head } from "../parts/Head.tsx";

import "./usage.css";

const KINDS = { day: "Day", agent: "Agent", thread: "Thread", folder: "Folder" } as const;
type Kind = keyof typeof KINDS;
const DAYS = [7, 30, 90, 365] as const;

export default function Usage() {
  const [by, setBy] = useState<Kind>("day");
  const [days, setDays] = useState<number>(30);
  const [read, setRead] = useState<{ by: Kind; usage: UsageRead }>();
  const [error, setError] = useState<string>();
  useEffect(() => {
    const now = client.peek();
    if (!online.value || !now) {
      return;
    }
    let over = false;
    now.call("usage/read", { by, days }).then(
      (usage) => {
        if (!over) {
          setRead({ by, usage });
          setError(undefined);
        }
      },
      (why: unknown) => over || setError(sentence(why)),
    );
    return () => void (over = true);
  }, [online.value, by, days]);
  return (
    <>
      <Head title="Usage" />
      <div class="page" tabIndex={0} role="region" aria-label="Usage">
        <div class="page-column">
          <div class="usage-picks">
            <label>
              <span>By</span>
              <select class="field" value={by} onChange={(event) => setBy(event.currentTarget.value as Kind)}>
                {Object.entries(KINDS).map(([kind, name]) => (
                  <option key={kind} value={kind}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <label>
              <span>Last</span>
              <select class="field" value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
                {DAYS.map((number) => (
                  <option key={number} value={number}>
                    {number} days
                  </option>
                ))}
              </select>
            </label>
          </div>
          {error !== undefined && (
            <p class="error-text" role="alert">
              {error}
            </p>
          )}
          {read?.usage.data.length === 0 && <p class="empty">No agent has reported tokens or costs in this time.</p>}
          {read && read.usage.data.length > 0 && <Table by={read.by} usage={read.usage} />}
        </div>
      </div>
    </>
  );
}

function Table({ by, usage: { data, total, omitted, currenciesOmitted } }: { by: Kind; usage: UsageRead }) {
  const lengths = shares(data);
  return (
    <>
      <div class="card usage-card">
        <table class="usage">
          <thead>
            <tr>
              <th scope="col">{KINDS[by]}</th>
              <th scope="col">Cost</th>
              <th scope="col">Tokens</th>
            </tr>
          </thead>
          <tbody>
            {data.map((row, index) => (
              <tr key={row.threadId ?? row.day ?? row.agentType ?? row.cwd}>
                <th scope="row">
                  <Name row={row} />
                  <span class="usage-bar" style={{ width: `${Math.round(lengths[index]! * 100)}%` }} />
                </th>
                <Numbers {...row.spent} />
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">Total</th>
              <Numbers {...total} />
            </tr>
          </tfoot>
        </table>
      </div>
      <p class="hint">
        {omitted > 0 && `${count(omitted)} smaller rows are left out; the total has them. `}
        {currenciesOmitted > 0 && `The total leaves out ${count(currenciesOmitted)} ${currenciesOmitted === 1 ? "currency" : "currencies"} that few threads report. `}
        As agents report it. Days are in UTC. Deleted threads do not count.
      </p>
    </>
  );
}

function Name({ row }: { row: UsageRow }) {
  const name = rowName(row);
  if (row.threadId == null) {
    return (
      <span class="usage-name" dir="auto">
        {name}
      </span>
    );
  }
  const to = { view: "thread", threadId: row.threadId } as const;
  return (
    <a
      class="usage-name"
      dir="auto"
      href={pathOf(to)}
      onClick={(event) => {
        if (!event.metaKey && !event.ctrlKey && !event.shiftKey) {
          event.preventDefault();
          go(to);
        }
      }}
    >
      {name}
    </a>
  );
}

function Numbers({ costs, inputTokens, outputTokens, totalTokens }: UsageRow["spent"]) {
  const parts = `${count(inputTokens)} in, ${count(outputTokens)} out`;
  return (
    <>
      <td>{costsOf(costs) ?? "–"}</td>
      <td title={parts}>{totalTokens > 0 ? count(totalTokens) : "–"}</td>
    </>
  );
}
