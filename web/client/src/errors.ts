/** One error class for all failures of this package. */

import type { Error as RpcError } from "./protocol.js";

/** Codes of failures that the daemon did not report. */
export type LocalCode =
  /** There is no connection, or it broke. It is unknown whether the daemon executed the request. */
  | "disconnected"
  /** The client was closed. */
  | "closed"
  /** The response did not arrive within the caller's timeout. */
  | "timeout"
  /** The caller aborted the request. */
  | "aborted"
  /** The request exceeds the daemon's size limit. */
  | "too_large"
  /** The daemon uses another version of the protocol. */
  | "protocol_version"
  /** The daemon rejected this client's credentials. */
  | "unauthenticated"
  /** A received message violates the protocol. */
  | "malformed";

/** An error of this package or the daemon. `code` is stable and identifies it; `message` is a sentence for users. */
export class AcpdError extends Error {
  override readonly name = "AcpdError";
  /** The daemon's `data.code`, or a {@link LocalCode}. */
  readonly code: LocalCode | (string & {});
  /** The JSON-RPC error code; `undefined` if the error is not a response of the daemon. */
  readonly rpcCode: number | undefined;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Additional details. */
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

  /** Creates an error from the daemon's error response. */
  static answered(error: RpcError): AcpdError {
    return new AcpdError(error.data?.code ?? "internal", error.message, {
      rpcCode: error.code,
      retryable: error.data?.retryable ?? false,
      detail: error.data?.detail ?? undefined,
    });
  }

  /** Creates an error for a missing or broken connection. */
  static disconnected(why: string): AcpdError {
    return new AcpdError("disconnected", why, { retryable: true });
  }
}

/** Returns whether a retry may succeed: true for every failure that is not known to be final. */
export function mayPass(error: unknown): boolean {
  return !(error instanceof AcpdError) || error.retryable;
}
