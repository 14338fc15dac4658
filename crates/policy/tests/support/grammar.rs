//! Random command lines: the constructs of the manuals of bash, dash, zsh, mksh, ksh93, busybox and yash, put together at
//! random, with some characters changed.
//!
//! A template has holes: a `§` and a letter, each filled with another template. `l` is a list, `c` a command, `s` a simple
//! command, `w` a word, `r` a redirection, `h` a here-document, `b` lines of one, `q` a list for single quotes.
//!
//! A line has a few odd parts and is plain otherwise: with more, hardly any line would be allowed. Plain words name
//! commands, which run where a shell takes a quote or a word for something else.

/// A pseudo-random generator with a fixed sequence for each seed.
pub struct Dice {
    state: u64,
    /// How many odd parts the line may still have.
    odd: usize,
}

/// Deeper holes are filled with a plain word.
const DEPTH: usize = 5;

const SPELLINGS: [(&str, &str); 8] = [
    ("␣", " "),
    ("⏎", "\n"),
    ("⇥", "\t"),
    ("␍", "\r"),
    ("␁", "\u{1}"),
    ("␡", "\u{7f}"),
    ("⍽", "\u{2003}"),
    ("▭", "\u{3000}"),
];

/// Templates of one kind, separated by ` ¦ `. A blank at an end is `␣`, and `⏎`, `⇥`, `␍`, `␁`, `␡`, `⍽` and `▭` are a line break,
/// a tab and further control characters and blanks.
struct Parts {
    plain: &'static str,
    odd: &'static str,
}

const OPERATORS: Parts = Parts {
    plain: r"
     ;␣ ¦ ␣&&␣ ¦ ␣||␣ ¦ ␣|␣ ¦ ⏎ ¦ ␣&␣",
    odd: r"
     ;␣ ¦ ␣&&␣ ¦ ␣||␣ ¦ ␣|␣ ¦ ␣&␣ ¦ ⏎ ¦ ; ¦ && ¦ | ¦ ␣|&␣ ¦ & ¦ ␣\⏎ ¦ \⏎ ¦ ␣#␣ ¦ &\⏎ ¦ ␣&|␣ ¦ ␣&!␣ ¦ ;;␣ ¦ ⏎# a'⏎ ¦
     ␣;&␣ ¦ ␣&> ¦ ;⏎ ¦ ␣#\⏎",
};

const COMMANDS: Parts = Parts {
    plain: r"
     §s",
    odd: r"
     (§l) ¦ ( §l ) ¦ { §l; } ¦ { §l⏎} ¦ if §l; then §l; fi ¦ if §l⏎then §l⏎else §l⏎fi ¦
     if §l; then §l; elif §l; then §l; fi ¦ while §l; do §l; break; done ¦ until §l; do §l; exit; done ¦
     for v in §w §w; do §l; done ¦ for v in a b; do §l; done ¦ for x in a b⏎do §l⏎done ¦ for v in; do §l; done ¦
     for v do §l; done ¦ for v; do §l; done ¦ case §w in §w) §l;; *) §l;; esac ¦ case a in (a) §l;& b|c) §l;; esac ¦
     f() { §l; }; f ¦ f() (§l); f ¦ ! §c ¦ ! ! §c ¦ { §l; } §r ¦ (§l) §r ¦ if §l; then §l; fi §r ¦
     while read v; do §l; break; done §r ¦ time §c ¦ time -p §s ¦ time -- §s ¦ time -f x §s ¦ function f { §l; }; f ¦
     function f() { §l; }; f ¦ select v in a b; do §l; break; done ¦ coproc §s ¦ coproc N { §l; } ¦ [[ §w = §w ]] ¦
     [[ §w =~ §w ]] ¦ [[ §w -eq §w ]] ¦ [[ -v §w && ( ! §w ) ]] ¦ ((§w)) ¦ (( v = §w )) && §s ¦ ((§l) ) ¦
     for ((i=0; i<1; i++)); do §l; done ¦ for v in a; { §l; } ¦ §s |& §s ¦ let v=§w ¦ let 'v=1'; §s ¦ { §l } ¦ {§l} ¦
     { §l } always { §l } ¦ { §l; } always { §l; } ¦ if (§l) §s ¦ if { §l } §s ¦ if { §l } { §l } ¦
     if { §l; } { §l; } else { §l; } ¦ if [[ a ]] { §l } ¦ while (§l) §s ¦ while { §l } { §l; break } ¦ until (§l) §s ¦
     for v (a b) §s ¦ for v (a b) { §l } ¦ for v w in a b; do §l; done ¦ for v in a b; §s ¦ foreach v (a b) §l; end ¦
     foreach v (a b); §l; end ¦ repeat 2 §s ¦ repeat 1; do §l; done ¦ select v (a) { §l; break } ¦ () { §l } ¦ () §s ¦
     function { §l } ¦ f() §s; f ¦ case a { a) §l ;; } ¦ case a { (a) §l ;| (b) §l } ¦ noglob §s ¦ nocorrect §s ¦
     - §s ¦ builtin §s ¦ §s |& ¦ { §l; } |& §s ¦ §s |& read -p v ¦ namespace n { §l; } ¦ function f { §l; } §r; f ¦
     §s } ¦ §s { ¦ §s } §s ¦ §s; } ¦ (§l) §s ¦ fi §s",
};

const PREFIXES: Parts = Parts {
    plain: r"
     ",
    odd: r"
     CI=1␣ ¦ v=1␣ ¦ v='a[$(evil)]'␣ ¦ v='a[$(evil)]';␣ ¦ PATH=../../bad␣ ¦ PATH=../../bad;␣ ¦ v=evil;␣ ¦ v+=1␣ ¦
     DEBUG==evil␣ ¦ LINES=v␣ ¦ v[1]=a␣ ¦ v=(a b)␣ ¦ v[$(evil)]=1␣ ¦ v=§w␣ ¦ COLUMNS=1␣ ¦ §r ¦ command␣ ¦ exec␣ ¦ env␣ ¦
     nohup␣ ¦ nice␣ ¦ nice -n 1␣ ¦ nice -5␣ ¦ timeout 5␣ ¦ timeout -k 1 5␣ ¦ timeout -v 5␣ ¦ setsid␣ ¦ stdbuf -oL␣ ¦
     env -i PATH=/nowhere␣ ¦ env -u v CI=1␣ ¦ env -S␣ ¦ env LD_PRELOAD=x␣ ¦ command -p␣ ¦ command -v␣ ¦ exec -a x␣ ¦
     exec -c␣ ¦ eval␣ ¦ builtin␣ ¦ time␣ ¦ typeset␣ ¦ export␣ ¦ set -e;␣ ¦ set -k;␣ ¦ set -o keyword;␣ ¦
     set -euo pipefail;␣ ¦ set -x;␣ ¦ shopt -s extglob;␣ ¦ setopt rcquotes;␣ ¦ emulate sh;␣ ¦ alias echo=evil;␣ ¦
     trap evil EXIT;␣ ¦ !␣ ¦ read v <<<'a[$(evil)]';␣ ¦ read v <<E⏎a[$(evil)]⏎E⏎ ¦ for v in 'a[$(evil)]'; do␣ ¦
     LC_ALL=C␣ ¦ IFS=x␣",
};

const PROGRAMS: Parts = Parts {
    plain: r"
     good ¦ good ¦ good ¦ echo ¦ fine x ¦ exact a b ¦ :",
    odd: r#"
     good ¦ good ¦ good ¦ good ¦ good ¦ fine x ¦ fine ¦ exact a b ¦ evil ¦ evil ¦ echo ¦ printf ¦ printf %s ¦
     printf %d ¦ test ¦ [ ¦ [ §w = §w ] ¦ [ §w -eq §w ] ¦ test §w -lt 1 ¦ [ -v §w ] ¦ [ -f §w ] ¦ [ ! §w ] ¦ : ¦ true ¦
     "good" ¦ 'good' ¦ go\od ¦ 'evil' ¦ $'evil' ¦ $"evil" ¦ $v ¦ ${v} ¦ read v ¦ read -r line ¦ read LINES ¦ export ¦
     export v ¦ unset v ¦ unset ¦ exit ¦ exit §w ¦ wait ¦ wait §w ¦ type ¦ set ¦ cd ¦ let ¦ print ¦ whence ¦ integer ¦
     float ¦ declare ¦ readonly ¦ local ¦ getopts ¦ hash ¦ ulimit -n ¦ shift ¦ break ¦ return ¦ umask ¦
     printf '%s %d\n' a ¦ printf -v v ¦ SHELL -c '§q' ¦ SHELL -c '§q' ¦ SHELL -ec '§q' ¦ SHELL -euc '§q' ¦
     SHELL -kc '§q' ¦ SHELL -euo pipefail -c '§q' ¦ SHELL -o errexit -c '§q' ¦ SHELL -o keyword -c '§q' ¦
     SHELL -covi evil '§q' ¦ SHELL -oc '§q' evil ¦ SHELL -co errexit '§q' ¦ SHELL +c '§q' ¦ SHELL -c -- '§q' ¦
     SHELL -c '§q' evil ¦ SHELL -c '§q' _ 'a[$(evil)]' ¦ SHELL -c "good §w" ¦ SHELL -lc '§q' ¦ SHELL -xc '§q' ¦
     SHELL --login -c '§q' ¦ SHELL -nc '§q' ¦ SHELL -fc '§q' ¦ SHELL -Ac v '§q' ¦ SHELL -s ¦ SHELL §r"#,
};

const WORDS: Parts = Parts {
    plain: r#"
     a ¦ x ¦ 1 ¦ -n ¦ evil ¦ evil ¦ 'a b' ¦ '; evil ;' ¦ "; evil #" ¦ '$(evil)' ¦ "a $v" ¦ $v ¦ 'a[$(evil)]' ¦
     PATH=../../bad"#,
    odd: r#"
     $(§l) ¦ "$(§l)" ¦ $(§s §h) ¦ "$(§s §h)" ¦ $(§s §h⏎) ¦ <(§s §h) ¦ `§s §h` ¦ `§l` ¦ "a `§l`" ¦ <(§l) ¦ >(§l) ¦ =(§l) ¦ $( (§l) ) ¦ $((§l) ) ¦ $(( §w )) ¦ $((1+2)) ¦
     $(( (1+2)*3 )) ¦ $((v)) ¦ $((v[0])) ¦ $((1,v)) ¦ $(<ok) ¦ $[§w] ¦ $[v] ¦ ${ §l;} ¦ ${ §l} ¦ "${ §l;}" ¦ ${|§l;} ¦
     ${⏎§l⏎} ¦ $(§l⏎) ¦ $(§l # )⏎) ¦ $(case a in a) §l;; esac) ¦ ${v:-§w} ¦ ${v-a} ¦ ${v:=a} ¦ ${v:+§w} ¦ ${v:?a} ¦
     ${v%a} ¦ ${v%%*a} ¦ ${v#§w} ¦ ${v##*/} ¦ ${v/a/§w} ¦ ${v//a} ¦ ${v:1} ¦ ${v:1:2} ¦ ${v:v} ¦ ${v: -1} ¦ ${v^} ¦
     ${v,,} ¦ ${v@P} ¦ ${v@E} ¦ ${!v} ¦ ${!v*} ¦ ${#v} ¦ ${#v[@]} ¦ ${v[§w]} ¦ ${v[1]} ¦ ${v:h} ¦ ${v:F1:h} ¦ ${(e)v} ¦
     ${(P)v} ¦ ${(%)v} ¦ ${=v} ¦ ${~v} ¦ ${^v} ¦ ${+v} ¦ ${%v} ¦ ${v:#a} ¦ ${v:|w} ¦ $v[§w] ¦ "$v[§w]" ¦ $v[1] ¦
     $v[$(evil)] ¦ "$v[$(evil)]" ¦ $v:h ¦ "$v:s/a/b/" ¦ "$v: a" ¦ "$v:1" ¦ $~v ¦ $=v ¦ $^v ¦ $+v ¦ $v/a ¦ $v-a ¦ $v.a ¦
     $v{a ¦ $v(a) ¦ "$v(a)" ¦ $$ ¦ $$a ¦ $${a ¦ $$'\''␣ ¦ $$"\"␣ ¦ $# ¦ $#a ¦ $#{ ¦ $? ¦ $?a ¦ $! ¦ $- ¦ $@ ¦ "$@" ¦
     $* ¦ "$*" ¦ $0 ¦ $1 ¦ $10 ¦ $_ ¦ $ ¦ "$" ¦ "a$" ¦ $% ¦ ${v ¦ "${v" ¦ * ¦ ? ¦ [a-z] ¦ [!a] ¦ [[:alpha:]] ¦ [a ¦
     a] ¦ *(e:'evil':) ¦ *(.) ¦ *(N) ¦ ?(a) ¦ @(a|b) ¦ !(a) ¦ +(a) ¦ ~(E)a ¦ <1-5> ¦ <1->a ¦ a<1-5> ¦ (a) ¦ ^a ¦ a^b ¦
     a~b ¦ a#b ¦ # ¦ #a ¦ ** ¦ {a,b} ¦ {a,$(evil)} ¦ {1..3} ¦ {a ¦ a} ¦ {} ¦ @{1} ¦ {a} ¦ } ¦ { ¦ a{b,c}d ¦ {a,b}} ¦
     ~ ¦ ~/a ¦ ~+ ¦ ~v ¦ ~a ¦ a=~ ¦ = ¦ == ¦ =good ¦ =evil ¦ a=b ¦ a==good ¦ ! ¦ != ¦ !v ¦ !! ¦ a!b ¦ ^a^b ¦ %1 ¦ % ¦
     - ¦ -- ¦ -v ¦ +a ¦ @ ¦ , ¦ : ¦ a:=good ¦ \; ¦ \␣ ¦ \a ¦ \c ¦ \x41 ¦ \' ¦ \" ¦ \$ ¦ \⏎ ¦ \⏎␣ ¦ '\' ¦ 'a\\' ¦
     'a'\''b' ¦ '' ¦ "" ¦ 'a''b' ¦ '"' ¦ "'" ¦ "\"" ¦ "\a" ¦ "\`evil\`" ¦ "a\⏎b" ¦ "$\⏎(evil)" ¦ "!" ¦ "a⏎b" ¦ 'a⏎b' ¦
     $'a' ¦ $'a\nb' ¦ $'\'' ¦ $'a\\' ¦ $'\c' ¦ $'\x41' ¦ $'\ ¦ $"a" ¦ $"$(evil)" ¦ "`echo "a"`" ¦ `echo \`evil\`` ¦
     'a[$(evil)]' ¦ '$(evil)' ¦ "a[\$(evil)]" ¦ then ¦ do ¦ done ¦ fi ¦ in ¦ always ¦ end ¦ ] ¦ ]] ¦ é ¦ ⍽ ¦ a⍽b ¦ ▭ ¦
     a␍b ¦ ␁ ¦ ␡ ¦ ‘"#,
};

const REDIRECTIONS: Parts = Parts {
    plain: r"
     >/dev/null␣ ¦ 2>&1␣ ¦ </dev/null␣ ¦ >ok␣ ¦ §h",
    odd: r#"
     >/dev/null␣ ¦ 2>/dev/null␣ ¦ </dev/null␣ ¦ 2>&1␣ ¦ >&2␣ ¦ >ok␣ ¦ > ok␣ ¦ >>ok␣ ¦ <ok␣ ¦ >file␣ ¦ 1>ok␣ ¦
     &>/dev/null␣ ¦ &>>/dev/null␣ ¦ >&ok␣ ¦ >&␣ ¦ >& 2␣ ¦ 10>/dev/null␣ ¦ {v}>/dev/null␣ ¦ >|ok␣ ¦ <>ok␣ ¦ >!ok␣ ¦
     >>!ok␣ ¦ >&|ok␣ ¦ 2>&-␣ ¦ >&2-␣ ¦ <&-␣ ¦ <&0␣ ¦ <&p␣ ¦ >&p␣ ¦ >;ok␣ ¦ <#((1))␣ ¦ >§w␣ ¦ <§w␣ ¦ 2>§w␣ ¦ >~/ok␣ ¦
     >$~v␣ ¦ >=evil␣ ¦ >* ¦ >{a,b}␣ ¦ >ok>file␣ ¦ <(§s)␣ ¦ > >(§s)␣ ¦ < <(§s)␣ ¦ >>|(§s)␣ ¦ <<<a␣ ¦ <<<§w␣ ¦
     <<< "$(§l)"␣ ¦ 1<2> ¦ <1>ok␣ ¦ >^ok␣ ¦ 2^ok␣"#,
};

const HERE_DOCS: Parts = Parts {
    plain: r"
     <<E⏎§b⏎E⏎ ¦ <<'E'⏎§b⏎E⏎ ¦ <<-'E'⏎⇥§b⏎⇥E⏎",
    odd: r#"
     <<E⏎§b⏎E⏎ ¦ <<E⏎§b⏎E⏎ ¦ <<'E'⏎§b⏎E⏎ ¦ <<"E"⏎§b⏎E⏎ ¦ <<\E⏎§b⏎E⏎ ¦ <<-E⏎⇥§b⏎⇥E⏎ ¦ <<-'E'⏎⇥§b⏎⇥E⏎ ¦ <<'E'⏎§b⏎E ¦
     <<E; §s⏎§b⏎E⏎ ¦ <<E | §s⏎§b⏎E⏎ ¦ <<'E' && §s⏎§b⏎E⏎ ¦ <<E <<F⏎§b⏎E⏎§b⏎F⏎ ¦ <<-'E' <<F⏎⇥E⏎§b⏎F⏎ ¦ <<'E' §w⏎§b⏎E⏎ ¦
     <<E)⏎§b⏎E⏎ ¦ <<E "⏎§b⏎E⏎" ¦ <<'E F'⏎§b⏎E F⏎ ¦ <<''⏎§b⏎⏎ ¦ <<E#⏎§b⏎E⏎ ¦ <<$v⏎§b⏎$v⏎ ¦ <<E # §b⏎§b⏎E⏎ ¦
     <<E \⏎§b⏎E⏎ ¦ <<E{⏎§b⏎E{⏎"#,
};

const BODIES: Parts = Parts {
    plain: r#"
     a ¦ evil ¦ ' ¦ " ¦ $v ¦ E) ¦ E foo)"#,
    odd: r#"
     a ¦ a ¦ a ¦ $v ¦ ${v} ¦ $(§l) ¦ $(evil) ¦ `evil` ¦ \$(evil) ¦ \`evil\` ¦ ${ evil} ¦ ${ evil;} ¦ $v[$(evil)] ¦
     $((v[$(evil)])) ¦ E) ¦ E foo) ¦ E ¦ ⇥E ¦ E␣ ¦ ⇥E) ¦ \ ¦ a\ ¦ ' ¦ " ¦ it's )" ; evil ; echo "( ¦ ) ; evil ; ( ¦ ) ¦
     ( ¦ evil ¦ F ¦ $ ¦ a$ ¦ "$(evil)" ¦ $'evil' ¦ # ) ¦ §b⏎§b ¦ ${v:-$(evil)} ¦ \⏎E"#,
};

const SHELLS: &str = r"sh ¦ bash ¦ dash ¦ zsh ¦ mksh ¦ ksh ¦ yash ¦ /bin//bash ¦ ./bash ¦ busybox sh";

const SIGNS: &str = r#"
     ␣ ¦ ⏎ ¦ \ ¦ ' ¦ " ¦ ` ¦ $ ¦ ; ¦ & ¦ | ¦ < ¦ > ¦ ( ¦ ) ¦ { ¦ } ¦ [ ¦ ] ¦ # ¦ ! ¦ * ¦ ? ¦ = ¦ ~ ¦ 1 ¦ , ¦ + ¦ - ¦
     ⇥ ¦ % ¦ ^ ¦ x ¦ : ¦ @ ¦ E ¦ v ¦ . ¦ /"#;

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self { state: seed, odd: 0 }
    }

    fn roll(&mut self, sides: usize) -> usize {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 1).unwrap() % sides
    }

    /// Returns one of the templates in a text, as it is in a line.
    fn pick(&mut self, from: &str) -> String {
        let templates: Vec<_> = from
            .split('¦')
            .map(|template| template.trim_matches([' ', '\n']))
            .collect();
        let mut template = templates[self.roll(templates.len())].to_owned();
        for (sign, character) in SPELLINGS {
            template = template.replace(sign, character);
        }
        template
    }

    /// Returns one random line.
    pub fn line(&mut self) -> String {
        self.odd = self.roll(6);
        let mut line = self.list(0);
        while self.roll(4) == 0 {
            line = self.changed(&line);
        }
        line
    }

    /// Returns the line with one character added, removed or replaced.
    fn changed(&mut self, line: &str) -> String {
        let mut characters: Vec<char> = line.chars().collect();
        let at = self.roll(characters.len() + 1);
        let sign = self.pick(SIGNS);
        let sign = sign.chars();
        match self.roll(3) {
            0 if at < characters.len() => drop(characters.remove(at)),
            1 if at < characters.len() => drop(characters.splice(at..=at, sign)),
            _ => drop(characters.splice(at..at, sign)),
        }
        characters.into_iter().collect()
    }

    fn list(&mut self, depth: usize) -> String {
        let mut list = self.of(&COMMANDS, depth);
        while self.roll(3) == 0 {
            let operator = self.of(&OPERATORS, depth);
            list = format!("{list}{operator}{}", self.of(&COMMANDS, depth));
        }
        list
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut text = self.of(&PREFIXES, depth);
        text += &self.of(&PROGRAMS, depth).replace("SHELL", &self.pick(SHELLS));
        while self.roll(2) == 0 {
            text = format!("{text} {}", self.word(depth));
        }
        while self.roll(5) == 0 {
            let blank = if self.roll(3) == 0 { "" } else { " " };
            text = format!("{text}{blank}{}", self.of(&REDIRECTIONS, depth));
        }
        text
    }

    fn word(&mut self, depth: usize) -> String {
        let word = self.of(&WORDS, depth);
        match self.roll(12) {
            0 => format!("{word}{}", self.of(&WORDS, depth)),
            1 => format!("\"{word}\""),
            _ => word,
        }
    }

    fn body(&mut self, depth: usize) -> String {
        let mut body = self.of(&BODIES, depth);
        while self.roll(2) == 0 {
            body = format!("{body}\n{}", self.of(&BODIES, depth));
        }
        body
    }

    fn of(&mut self, parts: &Parts, depth: usize) -> String {
        let is_odd = self.odd > 0 && self.roll(3) == 0;
        self.odd -= usize::from(is_odd);
        let template = self.pick(if is_odd { parts.odd } else { parts.plain });
        let mut pieces = template.split('§');
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (hole, behind) = piece.split_at(1);
            text += &self.hole(hole, depth + 1);
            text += behind;
        }
        text
    }

    fn hole(&mut self, hole: &str, depth: usize) -> String {
        if depth > DEPTH {
            return if hole == "l" { "good" } else { "a" }.to_owned();
        }
        match hole {
            "l" => self.list(depth),
            "c" => self.of(&COMMANDS, depth),
            "s" => self.simple(depth),
            "w" => self.word(depth),
            "r" => self.of(&REDIRECTIONS, depth),
            "h" => self.of(&HERE_DOCS, depth),
            "b" => self.body(depth),
            "q" => self.list(depth).replace('\'', "'\\''"),
            other => unreachable!("no hole {other}"),
        }
    }
}
