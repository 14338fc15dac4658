// The output of a command. Its view, which interprets terminal sequences, is loaded with the first command.

import { lazy } from "../../parts/lazy.tsx";

export interface OutputProps {
  output: string;
  /** Whether a part of the output is missing. */
  truncated?: boolean;
  /** The id of the stored content, if `output` is only its end. */
  blob?: string | undefined;
  /** The label for screen readers. */
  label: string;
  /** Whether the command still runs. */
  live?: boolean;
}

export const Output = lazy<OutputProps>(async () => ({ default: (await import("./Terminal.tsx")).Terminal }));
