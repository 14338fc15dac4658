// What an editor has: text that is not saved yet, terminals, and a person who answers as the turn says.

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";

export class World {
  #turn = {};
  #cancel = () => undefined;
  #buffers = new Map();
  #terminals = new Map();
  /** What the agent has said in this turn. */
  said = "";

  begin(turn, cancel) {
    this.#turn = turn;
    this.#cancel = cancel;
    this.said = "";
  }

  async shown({ update }) {
    if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
      this.said += update.content.text;
    }
    if (this.#turn.cancelAt && this.said.endsWith(this.#turn.cancelAt)) {
      delete this.#turn.cancelAt;
      await this.#cancel();
    }
  }

  permission({ options }) {
    const chosen = options.find((option) => option.kind === this.#turn.answer);
    if (!chosen) {
      throw new Error(`nothing of kind ${this.#turn.answer} among ${JSON.stringify(options)}`);
    }
    return { outcome: { outcome: "selected", optionId: chosen.optionId } };
  }

  async read({ path }) {
    return { content: this.#buffers.get(path) ?? (await readFile(path, "utf8")) };
  }

  write({ path, content }) {
    this.#buffers.set(path, content);
    return {};
  }

  create({ command, args = [], cwd }) {
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    const terminal = { child, output: "", status: null };
    const hear = (bytes) => (terminal.output += bytes);
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    terminal.end = new Promise((resolve) =>
      child.on("close", (exitCode, signal) => resolve((terminal.status = { exitCode, signal }))),
    );
    const terminalId = `editor-${this.#terminals.size}`;
    this.#terminals.set(terminalId, terminal);
    return { terminalId };
  }

  output({ terminalId }) {
    const { output, status } = this.#terminals.get(terminalId);
    return { output, truncated: false, exitStatus: status };
  }

  exit({ terminalId }) {
    return this.#terminals.get(terminalId).end;
  }

  kill({ terminalId }) {
    this.#terminals.get(terminalId).child.kill();
    return {};
  }

  release({ terminalId }) {
    this.kill({ terminalId });
    return {};
  }
}
