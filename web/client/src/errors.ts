/** Every failure that a user of this package can meet, as one class. */

import type { Error as RpcError } from "./protocol.js";

/** What went wrong where the daemon has not said so. */
export type LocalCode =
  /** The connection broke, or there is none. Whether the daemon did what was asked is not known. */
  | "disconnected"
  /** The client was closed. */
  | "closed"
  /** The answer did not come in the time that the caller gave it. */
  | "timeout"
  /** The caller took the request back. */
  | "aborted"
  /** The request is larger than the daemon takes. */
  | "too_large"
  /** The daemon speaks another version of the protocol. */
  | "protocol_version"
  /** The daemon does not let this client in. */
  | "unauthenticated"
  /** Something came that is none of the protocol's messages. */
  | "malformed";

/** A failure. `code` is stable and says which one; `message` is a sentence for people. */
export class AcpdError extends Error {
  override readonly name = "AcpdError";
  /** The daemon's `data.code`, or a {@link LocalCode}. */
  readonly code: LocalCode | (string & {});
  /** JSON-RPC's number; none if the failure is not an answer of the daemon. */
  readonly rpcCode: number | undefined;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** What explains it further. */
  readonly detail: string | undefined;

  constructor(
    code: LocalCode | (string & {}),
    message: string,
    more: { retryable?: boolean; rpcCode?: number; detail?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.retryable = more.retryable ?? false;
    this.rpcCode = more.rpcCode;
    this.detail = more.detail;
  }

  /** The daemon's own error. */
  static answered(error: RpcError): AcpdError {
    return new AcpdError(error.data?.code ?? "internal", error.message, {
      rpcCode: error.code,
      retryable: error.data?.retryable ?? false,
      detail: error.data?.detail ?? undefined,
    });
  }

  /** There is no connection, or none any more. */
  static disconnected(why: string): AcpdError {
    return new AcpdError("disconnected", why, { retryable: true });
  }
}

/** Whether trying again may help: true of every failure that is not known to be final. */
export function mayPass(error: unknown): boolean {
  return !(error instanceof AcpdError) || error.retryable;
}
