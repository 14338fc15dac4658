//! `wire!`, which defines how an object is written and what the schema says about it.

/// Defines objects and words of the protocol: how they are written and, in tests, their schema.
///
/// ```text
/// struct Name<'a> { … }             an object; `new` takes its members
/// struct Name for path::Type { … }  an object that is a struct of the daemon
/// enum Name { First, Second }       a word
/// enum Name for path::Type { … }    a word that is an enum of the daemon
/// enum Name for path::Type { A(…) } an object with one member, which is named like the variant
/// enum Name<'a> by "kind" { … }     an object whose member `kind` names the variant; also `for path::Type`
/// enum Name<'a> of { A(Object), … } one of several objects
/// ```
///
/// A member is `[attribute] name: Type as Described | mode`, where only the name and the type are required:
///
/// - Names of members and variants become camel case. `[rename = "…"]` gives another name. `[flatten]` writes the
///   members of an object as members of this one.
/// - `as` is the type in the schema, if it is not that of `Type`.
/// - A member that is `None` is absent. With `| null`, it is `null`. With `| filled`, an empty list is absent.
///
/// Members are written in the order of their declaration. `[first]` writes a member ahead of the one that names the
/// variant.
///
/// Docs are those of the schema. schemars derives it from a type with the same name and the described members.
macro_rules! wire {
    () => {};

    // Objects.
    (
        $(#[$doc:meta])* struct $name:ident $(<$life:lifetime>)? {
            $(
                $(#[$about:meta])* $([$($attr:tt)+])?
                $member:ident: $type:ty $(as $schema:ty)? $(| $mode:ident)?
            ),* $(,)?
        }
        $($rest:tt)*
    ) => {
        pub struct $name $(<$life>)? {
            $(pub $member: $type,)*
        }
        #[allow(
            dead_code,
            clippy::too_many_arguments,
            clippy::fn_params_excessive_bools,
            reason = "some objects are made with named members"
        )]
        impl $(<$life>)? $name $(<$life>)? {
            pub fn new($($member: $type),*) -> Self {
                Self { $($member),* }
            }
        }
        wire! { @object [$(#[$doc])*] $name [$(<$life>)?] [$name $(<$life>)?] $(
            [$(#[$about])*] [$($($attr)+)?] $member [$type] [$($schema)?] [$($mode)?]
        )* }
        wire! { $($rest)* }
    };
    (
        $(#[$doc:meta])* struct $name:ident for $for:ty {
            $(
                $(#[$about:meta])* $([$($attr:tt)+])?
                $member:ident: $type:ty $(as $schema:ty)? $(| $mode:ident)?
            ),* $(,)?
        }
        $($rest:tt)*
    ) => {
        wire! { @object [$(#[$doc])*] $name [] [$for] $(
            [$(#[$about])*] [$($($attr)+)?] $member [$type] [$($schema)?] [$($mode)?]
        )* }
        wire! { $($rest)* }
    };
    (
        @object [$($doc:tt)*] $name:ident [$(<$life:lifetime>)?] [$for:ty] $(
            [$($about:tt)*] [$($attr:tt)*] $member:ident [$type:ty] [$($schema:ty)?] [$($mode:ident)?]
        )*
    ) => {
        wire! { @members [$(<$life>)?] [$for] self out {
            let Self { $($member),* } = self;
            $(wire!(@member out $member [$type] [$($attr)*] [$($mode)?]);)*
        } }
        wire! { @described [$(<$life>)?] $name [$for]
            $($doc)*
            pub struct $name $(<$life>)? {
                #[serde(skip)]
                lifetime: std::marker::PhantomData<($(&$life (),)?)>,
                $($($about)* #[serde($($attr)*)] $member: wire!(@schema [$type] [$($schema)?]),)*
            }
        }
    };

    // One of several objects.
    (
        $(#[$doc:meta])* enum $name:ident<$life:lifetime> of {
            $($variant:ident($type:ty)),* $(,)?
        }
        $($rest:tt)*
    ) => {
        pub enum $name<$life> {
            $($variant($type),)*
        }
        wire! { @members [<$life>] [$name<$life>] self out {
            match self {
                $(Self::$variant(object) => wire!(@member out object [$type] [flatten] []),)*
            }
        } }
        wire! { @described [<$life>] $name [$name<$life>]
            $(#[$doc])*
            #[serde(untagged)]
            pub enum $name<$life> { $($variant(wire!(@schema [$type] [])),)* }
        }
        wire! { $($rest)* }
    };

    // An object with one member, which is named like the variant.
    (
        $(#[$doc:meta])* enum $name:ident for $for:ty {
            $($(#[$about:meta])* $variant:ident($type:ty)),* $(,)?
        }
        $($rest:tt)*
    ) => {
        wire! { @members [] [$for] self out {
            match self {
                $(Self::$variant(value) => wire!(@put out value [$type] [wire!(@word $variant [])] [null]),)*
            }
        } }
        wire! { @described [] $name [$for]
            $(#[$doc])*
            pub enum $name { $($(#[$about])* $variant(wire!(@schema [$type] [])),)* }
        }
        wire! { $($rest)* }
    };

    // An object with a member that names the variant.
    (
        $(#[$doc:meta])* enum $name:ident<$life:lifetime> by $tag:literal {
            $(
                $(#[$about:meta])* $variant:ident {
                    $(
                        $(#[$about_member:meta])* $([$first:ident])?
                        $member:ident: $type:ty $(as $schema:ty)? $(| $mode:ident)?
                    ),* $(,)?
                }
            ),* $(,)?
        }
        $($rest:tt)*
    ) => {
        pub enum $name<$life> {
            $($variant { $($member: $type),* },)*
        }
        wire! { @tagged [$(#[$doc])*] $name [<$life>] [$name<$life>] $tag $(
            [$(#[$about])*] $variant [
                $([$(#[$about_member])*] [$($first)?] $member [$type] [$($schema)?] [$($mode)?])*
            ]
        )* }
        wire! { $($rest)* }
    };
    (
        $(#[$doc:meta])* enum $name:ident for $for:ty, by $tag:literal {
            $(
                $(#[$about:meta])* $variant:ident {
                    $(
                        $(#[$about_member:meta])*
                        $member:ident: $type:ty $(as $schema:ty)? $(| $mode:ident)?
                    ),* $(,)?
                }
            ),* $(,)?
        }
        $($rest:tt)*
    ) => {
        wire! { @tagged [$(#[$doc])*] $name [] [$for] $tag $(
            [$(#[$about])*] $variant [
                $([$(#[$about_member])*] [] $member [$type] [$($schema)?] [$($mode)?])*
            ]
        )* }
        wire! { $($rest)* }
    };
    (
        @tagged [$($doc:tt)*] $name:ident [$($life:tt)*] [$for:ty] $tag:literal $(
            [$($about:tt)*] $variant:ident [$(
                [$($about_member:tt)*] [$($first:ident)?] $member:ident [$type:ty] [$($schema:ty)?] [$($mode:ident)?]
            )*]
        )*
    ) => {
        wire! { @members [$($life)*] [$for] self out {
            match self {
                $(Self::$variant { $($member),* } => {
                    $(wire!(@if [$($first)?] { wire!(@member out $member [$type] [] [$($mode)?]) } else {});)*
                    out.plain($tag, wire!(@word $variant []));
                    $(wire!(@if [$($first)?] {} else { wire!(@member out $member [$type] [] [$($mode)?]) });)*
                })*
            }
        } }
        wire! { @described [$($life)*] $name [$for]
            $($doc)*
            #[serde(tag = $tag, rename_all_fields = "camelCase")]
            pub enum $name $($life)* {
                $($($about)* $variant { $($($about_member)* $member: wire!(@schema [$type] [$($schema)?])),* },)*
            }
        }
    };
    (@if [first] { $($then:tt)* } else { $($else:tt)* }) => { $($then)* };
    (@if [] { $($then:tt)* } else { $($else:tt)* }) => { $($else)* };

    // Words.
    (
        $(#[$doc:meta])* enum $name:ident {
            $($(#[$about:meta])* $([$($attr:tt)+])? $variant:ident),* $(,)?
        }
        $($rest:tt)*
    ) => {
        #[derive(Clone, Copy)]
        pub enum $name {
            $($variant,)*
        }
        wire! { @words [$(#[$doc])*] $name [$name] $([$(#[$about])*] [$($($attr)+)?] $variant)* }
        wire! { $($rest)* }
    };
    (
        $(#[$doc:meta])* enum $name:ident for $for:ty {
            $($(#[$about:meta])* $([$($attr:tt)+])? $variant:ident),* $(,)?
        }
        $($rest:tt)*
    ) => {
        wire! { @words [$(#[$doc])*] $name [$for] $([$(#[$about])*] [$($($attr)+)?] $variant)* }
        wire! { $($rest)* }
    };
    (
        @words [$($doc:tt)*] $name:ident [$for:ty]
        $([$($about:tt)*] [$($attr:tt)*] $variant:ident)*
    ) => {
        impl $crate::surface::app::wire::Value for $for {
            #[inline]
            fn write(&self, out: &mut Vec<u8>) {
                let word = match self {
                    $(Self::$variant => wire!(@word $variant [$($attr)*]),)*
                };
                $crate::surface::app::wire::Value::write(&$crate::surface::app::wire::Plain(word), out);
            }
        }
        wire! { @described [] $name [$for]
            $($doc)*
            pub enum $name { $($($about)* #[serde($($attr)*)] $variant,)* }
        }
    };

    // Parts of the above.
    (@members [$($life:tt)*] [$for:ty] $self:ident $out:ident $write:block) => {
        impl $($life)* $crate::surface::app::wire::Members for $for {
            #[inline]
            fn write_into(&$self, $out: &mut $crate::wire::Object<'_>) {
                let _ = &$out;
                $write
            }
        }
        impl $($life)* $crate::surface::app::wire::Value for $for {
            #[inline]
            fn write(&self, out: &mut Vec<u8>) {
                let mut object = $crate::wire::Object::open(out);
                $crate::surface::app::wire::Members::write_into(self, &mut object);
                object.close();
            }
        }
    };
    (@member $out:ident $member:ident [$type:ty] [flatten] []) => {
        <$type as $crate::surface::app::wire::Members>::write_into($member, $out)
    };
    (@member $out:ident $member:ident [$type:ty] [$($attr:tt)*] [$($mode:ident)?]) => {
        wire!(@put $out $member [$type] [wire!(@word $member [$($attr)*])] [$($mode)?])
    };
    (@put $out:ident $member:ident [$type:ty] [$key:expr] []) => {
        if !<$type as $crate::surface::app::wire::Value>::is_absent($member) {
            wire!(@put $out $member [$type] [$key] [null]);
        }
    };
    (@put $out:ident $member:ident [$type:ty] [$key:expr] [filled]) => {
        if !$member.is_empty() {
            wire!(@put $out $member [$type] [$key] [null]);
        }
    };
    (@put $out:ident $member:ident [$type:ty] [$key:expr] [null]) => {
        $out.with($key, |out| <$type as $crate::surface::app::wire::Value>::write($member, out))
    };
    (@word $name:ident [rename = $word:literal]) => { $word };
    (@word $name:ident []) => {{
        const NAME: &str = stringify!($name);
        const CAMEL: $crate::surface::app::wire::Camel<{ NAME.len() }> = $crate::surface::app::wire::Camel::new(NAME);
        const WORD: &str = CAMEL.text();
        WORD
    }};
    // A type of the same name for the schema, in a module of its own.
    (@described [$($life:tt)*] $name:ident [$for:ty] $($item:tt)*) => {
        #[cfg(test)]
        const _: () = {
            impl $($life)* $crate::surface::app::wire::Described for $for {
                type Schema = schema::$name $($life)*;
            }
            #[allow(dead_code, unused_imports, clippy::all, reason = "only its schema is used")]
            mod schema {
                use super::*;
                #[derive(schemars::JsonSchema)]
                #[serde(rename_all = "camelCase")]
                $($item)*
            }
        };
    };
    (@schema [$type:ty] []) => { <$type as $crate::surface::app::wire::Described>::Schema };
    (@schema [$type:ty] [$schema:ty]) => { <$schema as $crate::surface::app::wire::Described>::Schema };
}

/// Writes a type of the daemon like an object that is made of it.
macro_rules! shown {
    ($type:ty as $shown:ident, |$value:ident| $object:expr) => {
        impl $crate::surface::app::wire::Value for $type {
            fn write(&self, out: &mut Vec<u8>) {
                let $value = self;
                $crate::surface::app::wire::Value::write(&$object, out);
            }
        }
        #[cfg(test)]
        impl $crate::surface::app::wire::Described for $type {
            type Schema = <$shown<'static> as $crate::surface::app::wire::Described>::Schema;
        }
    };
}
