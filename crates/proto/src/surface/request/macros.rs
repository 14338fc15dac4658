//! `requests!`, which defines requests, their kinds and their replies from a row for each request.

/// Defines `Request`, `RequestKind`, the properties of each kind, and the type of its reply.
///
/// ```text
/// Name { … } -> Reply: Role, Order, AnswerSize, SharedAccess;   a request, and the kind of that name
/// Name of Request: Role;                                        a kind that only some of these requests are, with a role of its own
/// ```
///
/// The reply is a variant of `Reply`, with the type that is in it.
///
/// The order is one of these:
///
/// - `Free`: no other request depends on it.
/// - `Thread(member)`: that of the thread which this member names. `Thread(pattern => thread)` finds it elsewhere: the pattern
///   matches the members.
/// - `Connection`: the same, among the requests of the connection that concern no thread.
macro_rules! requests {
    (
        requests {
            $(
                $(#[$about:meta])*
                $name:ident $({ $($members:tt)* })? $(($($value:tt)*))? -> $reply:ident $(($replied:ty))?:
                $role:ident, $order:ident $(($($thread:tt)+))?, $size:ident, $access:ident;
            )+
        }
        kinds {
            $( $(#[$about_kind:meta])* $kind:ident of $request:ident: $role_of_kind:ident; )+
        }
    ) => {
        /// A request of a client.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Request {
            $( $(#[$about])* $name $({ $($members)* })? $(($($value)*))?, )+
        }

        /// The kind of a request, known before its params are read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each is the request of that name")]
        pub enum RequestKind {
            $( $name, )+
            $( $(#[$about_kind])* $kind, )+
        }

        /// A type for each kind of request, which has no values: it is [`Call`] for the reply.
        #[allow(missing_docs, reason = "each is the request of that name")]
        pub mod calls {
            $( #[derive(Debug)] pub enum $name {} )+
            $( pub type $kind = $request; )+
        }

        $( requests! { @call $name $reply $(($replied))? } )+

        impl RequestKind {
            /// All kinds.
            #[cfg(test)]
            pub(super) const ALL: &[Self] = &[$( Self::$name, )+ $( Self::$kind, )+];

            /// Returns the minimum role for this kind of request.
            pub fn role(self) -> Role {
                match self {
                    $( Self::$name => Role::$role, )+
                    $( Self::$kind => Role::$role_of_kind, )+
                }
            }

            /// Returns the order in which requests of this kind execute.
            pub fn order(self) -> Order {
                match self {
                    $( Self::$name => requests!(@order $order $(($($thread)+))?), )+
                    $( Self::$kind => Self::$request.order(), )+
                }
            }

            /// Returns how large the answer to a request of this kind can be.
            pub fn answer_size(self) -> AnswerSize {
                match self {
                    $( Self::$name => AnswerSize::$size, )+
                    $( Self::$kind => Self::$request.answer_size(), )+
                }
            }

            /// Returns what becomes of requests of this kind if the client reaches one thread only.
            pub fn shared_access(self) -> SharedAccess {
                match self {
                    $( Self::$name => SharedAccess::$access, )+
                    $( Self::$kind => Self::$request.shared_access(), )+
                }
            }
        }

        impl Request {
            /// Returns the kind that has the request's name.
            fn named_kind(&self) -> RequestKind {
                match self {
                    $( Self::$name { .. } => RequestKind::$name, )+
                }
            }

            /// Returns the thread whose order the request has; `None` if it may run at any time, or has the order of its
            /// connection.
            pub fn ordered_by(&self) -> Option<ThreadId> {
                match self {
                    $( $( requests!(@pattern $name $($thread)+) => requests!(@thread $($thread)+), )? )+
                    // Each of the others has another order in its row.
                    _ => None,
                }
            }
        }
    };

    (@call $name:ident $reply:ident) => {
        impl Call for calls::$name {
            type Reply = ();

            fn reply((): ()) -> Reply {
                Reply::$reply
            }

            fn take(reply: Reply) -> Result<(), Failure> {
                Self::read(&reply).copied()
            }

            fn read(reply: &Reply) -> Result<&(), Failure> {
                match reply {
                    Reply::$reply => Ok(&()),
                    _ => Err(misplaced()),
                }
            }
        }
    };
    (@call $name:ident $reply:ident ($replied:ty)) => {
        impl Call for calls::$name {
            type Reply = $replied;

            fn reply(reply: $replied) -> Reply {
                Reply::$reply(reply)
            }

            fn take(reply: Reply) -> Result<$replied, Failure> {
                match reply {
                    Reply::$reply(reply) => Ok(reply),
                    _ => Err(misplaced()),
                }
            }

            fn read(reply: &Reply) -> Result<&$replied, Failure> {
                match reply {
                    Reply::$reply(reply) => Ok(reply),
                    _ => Err(misplaced()),
                }
            }
        }
    };

    (@order Free) => { Order::Free };
    (@order Connection) => { Order::Thread };
    (@order Thread ($($thread:tt)+)) => { Order::Thread };

    (@pattern $name:ident $member:ident) => { Request::$name { $member, .. } };
    (@pattern $name:ident $pattern:tt => $thread:expr) => { Request::$name $pattern };
    (@thread $member:ident) => { Some(*$member) };
    (@thread $pattern:tt => $thread:expr) => { $thread };
}
