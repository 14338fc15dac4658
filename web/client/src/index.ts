/** Client of acpd's app protocol. Start with {@link connect}. */

export { attachFile, type AttachOptions } from "./attach.js";
export { Client, connect, type ConnectOptions } from "./client.js";
export type { Backoff, Clock } from "./clock.js";
export { AcpdError, type LocalCode } from "./errors.js";
export type { FollowOptions, Subscription } from "./follow.js";
export type * from "./protocol.js";
export { APPROVALS, PROTOCOL_VERSION } from "./protocol.js";
export type { Page, State } from "./reconnect.js";
export type { Socket, SocketConstructor } from "./socket.js";
export { fetchTicket, type TicketOptions } from "./tickets.js";
export type * from "./types.js";
