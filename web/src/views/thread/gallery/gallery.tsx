// All views of a thread on one page, with samples. For development only; not part of the build.

import { Elicitation } from "../questions/Elicitation.tsx";
import "../../../styles/tokens.css";
import "../../../styles/base.css";

import { render } from "preact";
import { useState } from "preact/hooks";

import { MARKDOWN_ATTACKS } from "../../../text/markdown-attacks.ts";
import { aloneContext, type DiffStyle } from "../content/context.ts";
import {
  ComposerBox, ConfigOptions, CurrentThread, Item, Markdown, ModeSelect, NoticeView, Output, Plan, TurnEnd, UsageMeter,
} from "../index.ts";
import { Approval, Settled } from "../questions/Approval.tsx";
import * as samples from "./samples.ts";

function Gallery() {
  const [diffStyle, setDiffStyle] = useState<DiffStyle>("unified");
  const [draft, setDraft] = useState("");
  const [mode, setMode] = useState("code");
  const nothing = () => {};
  const context = { ...aloneContext, cwd: "/work/acpd", diffStyle, setDiffStyle, terminal: () => samples.terminal };
  const commands = [
    { name: "review", description: "Review the changes of this branch", hint: "which files" },
    { name: "compact", description: "Forget details" },
  ];
  return (
    <CurrentThread.Provider value={context}>
      <main class="gallery">
        {samples.items.map((item) => (
          <div class="th-line" key={item.itemId}>
            <Item item={item} />
          </div>
        ))}
        <TurnEnd turn={{ status: "completed", stopReason: "end_turn", startedAt: 0, completedAt: 93_000, tokenUsage: { inputTokens: 48_211, outputTokens: 1_932, cachedReadTokens: 30_000 } }} />
        <TurnEnd turn={{ status: "failed", error: "The agent ended while the turn ran." }} />
        {samples.notices.map((notice) => (
          <NoticeView key={notice.seq} notice={notice} />
        ))}
        <h2>Plan</h2>
        <Plan entries={samples.plan} />
        <h2>Questions</h2>
        <Settled title="Run a command" resolved={samples.resolved} options={samples.approval.options} />
        <Approval question={samples.approval} onAnswer={nothing} others={["mara (acpd-cli)", "phone"]} />
        <Approval question={samples.change} onAnswer={nothing} error="Somebody else has answered already." />
        <Approval question={{ ...samples.approval, requestId: "q9" }} onAnswer={nothing} sending />
        <Elicitation question={samples.form} onAnswer={nothing} onAccept={nothing} onDecline={nothing} onCancel={nothing} />
        <Elicitation question={samples.address} onAnswer={nothing} onAccept={nothing} onDecline={nothing} onCancel={nothing} open={nothing} />
        <h2>Composer</h2>
        <ComposerBox draft={draft} onDraft={setDraft} onSend={async () => {}} onStop={nothing} running={false} sendKey="enter" commands={commands} capabilities={{ image: true, audio: false, embeddedContext: false }}>
          <ModeSelect modeId={mode} modes={samples.modes} onPick={setMode} />
          <ConfigOptions options={samples.options} onSet={nothing} />
          <UsageMeter usage={{ used: 48_211, size: 200_000, cost: { amount: 0.4212, currency: "USD" } }} />
        </ComposerBox>
        <ComposerBox draft="And the second one?" onDraft={nothing} onSend={async () => {}} onStop={nothing} running sendKey="enter" commands={[]} capabilities={undefined}>
          <UsageMeter usage={{ used: 190_000, size: 200_000 }} />
        </ComposerBox>
        <h2>Hostile</h2>
        <Markdown text={samples.hostile} />
        <div id="hostile">
          {MARKDOWN_ATTACKS.map((text) => (
            <Markdown key={text} text={text} />
          ))}
        </div>
        <h2>12,000 lines</h2>
        <Output output={Array.from({ length: 12_000 }, (_, at) => `\u001b[3${at % 8}mline ${at}\u001b[0m of the output`).join("\n")} label="Many lines" />
      </main>
    </CurrentThread.Provider>
  );
}

/** Measures the rendering of a streaming message: run `await stream(100)` in the console. */
async function stream(kilobytes: number): Promise<{ deltas: number; mean: number; worst: number }> {
  const place = document.body.appendChild(document.createElement("div"));
  const text = samples.markdown.repeat(Math.ceil((kilobytes * 1_000) / samples.markdown.length));
  let [deltas, total, worst] = [0, 0, 0];
  for (let end = 0; end < text.length; end += 40) {
    const from = performance.now();
    render(<Markdown text={text.slice(0, end)} streaming />, place);
    const took = performance.now() - from;
    [deltas, total, worst] = [deltas + 1, total + took, Math.max(worst, took)];
    if (deltas % 50 === 0) await new Promise((next) => setTimeout(next));
  }
  render(null, place);
  place.remove();
  return { deltas, mean: total / deltas, worst };
}
Object.assign(window, { stream });

const root = document.getElementById("app");
if (root) render(<Gallery />, root);
