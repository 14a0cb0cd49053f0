//! Which bare names chats and renderers make links of.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Whether a bare name would become a link: a host below a top level that exists, or an address
/// in digits.
pub fn is_linked_host(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let Some((above, last)) = name.rsplit_once('.') else {
        return false;
    };
    if above.split('.').any(str::is_empty) {
        return false;
    }
    let last = last.to_lowercase();
    let octets = || {
        let labels = || above.split('.');
        labels().count() == 3 && labels().all(is_octet) && is_octet(&last)
    };
    match TOP_LEVELS.contains(last.as_str()) {
        // `main.rs` is a file. Whoever wants to be told something needs a name below theirs.
        true => above.contains('.') || !FILE_ENDINGS.contains(&last.as_str()),
        false => {
            last.starts_with("xn--")
                || above.eq_ignore_ascii_case("www")
                || above
                    .get(..4)
                    .is_some_and(|head| head.eq_ignore_ascii_case("www."))
                || octets()
        }
    }
}

fn is_octet(part: &str) -> bool {
    part.parse::<u8>().is_ok()
}

/// Endings that are those of files, or of fields in code, far more often than of hosts.
const FILE_ENDINGS: &[&str] = &[
    "md", "rs", "py", "sh", "cc", "so", "pm", "mk", "tf", "id", "is", "name", "data", "map", "run",
    "new", "select", "date",
];

static TOP_LEVELS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    COUNTRIES
        .split_whitespace()
        .chain(GENERIC.split_whitespace())
        .chain(OTHER_SCRIPTS.split_whitespace())
        .collect()
});

const COUNTRIES: &str = "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi \
bj bm bn bo br bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm \
do dz ec ee eg er es et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy \
hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc \
li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf \
ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se \
sg sh si sj sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua \
ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw";

const GENERIC: &str = "academy accountants actor adult agency airforce app apartments arpa art asia \
associates attorney auction audio auto baby band bank bar bargains beauty beer best bet bid bike bingo \
bio biz black blog blue boats bond boo book boutique box broker build builders business buzz cab cafe \
camera camp capital car cards care career careers cars casa cash casino cat catering center ceo cfd \
channel charity chat cheap church city claims cleaning click clinic clothing cloud club coach codes \
coffee college com community company computer condos construction consulting contact contractors \
cooking cool coop country coupons courses credit cricket cruises cyou dad dance data date dating day \
deals degree delivery democrat dental design dev diamonds diet digital direct directory discount docs \
doctor dog domains download earth eat eco edu education email energy engineer engineering enterprises \
equipment esq estate events example exchange expert exposed express fail faith family fan fans farm \
fashion feedback film finance financial fish fishing fit fitness flights florist flowers foo football \
forsale forum foundation fun fund furniture futbol fyi gallery game games garden gay gift gifts gives \
glass global gmbh gold golf google gov graphics gratis green gripe group guide guitars guru hair haus \
health healthcare help hiphop hockey holdings holiday homes horse hospital host hosting hot house how \
icu immo immobilien inc industries info ing ink institute insure int international investments jewelry \
jobs juegos kaufen kids kim kitchen land lat law lawyer lease legal lgbt life lighting limited limo \
link live llc loan loans lol london lotto love ltd luxury maison management map market marketing \
markets mba med media meet meme memorial men menu mil mobi moda moe mom money monster mortgage motorcycles \
mov movie museum name navy net network new news nexus ngo ninja nyc observer one onion onl online ooo \
org organic page paris partners parts party pet phd photo photography photos pics pictures pink pizza \
place plumbing plus poker porn post press pro productions prof promo properties property protection \
pub qpon quest racing realty recipes red rehab reise reisen rent rentals repair report republican rest \
restaurant review reviews rich rip rocks rodeo rsvp run sale salon sarl sbs school schule science \
search security select services sex sexy shiksha shoes shop shopping show singles site ski skin soccer \
social software solar solutions soy space spa sport spot srl storage store stream studio study style \
sucks supplies supply support surf surgery systems tattoo tax taxi team tech technology tel tennis test \
theater theatre tickets tienda tips tires today tools top tours town toys trade trading training travel \
tube university uno vacations vegas ventures vet viajes video villas vin vip vision vodka vote voting \
voto voyage wang watch watches web webcam website wedding wiki win wine work works world wtf xxx xyz \
yachts yoga you zip zone";

/// Those that are typed as they look.
const OTHER_SCRIPTS: &str = "рф рус бел укр срб мкд мон қаз бг ею онлайн сайт орг дети москва ком \
ελ ευ հայ გე ישראל קום 中国 中國 香港 台湾 台灣 公司 网络 网站 网址 在线 中文网 商城 集团 我爱你 \
新加坡 한국 닷컴 コム みんな 世界 भारत ไทย السعودية امارات مصر ایران المغرب الاردن موقع شبكة";

#[cfg(test)]
mod tests {
    use super::is_linked_host;

    #[test]
    fn names_of_hosts_are_told_from_those_of_files() {
        for host in [
            "evil.pl",
            "evil.zip",
            "a.evil.md",
            "docs.example",
            "www.whatever",
            "10.0.0.1",
            "xn--e1afmkfd.xn--p1ai",
            "пример.рф",
            "Evil.COM",
        ] {
            assert!(is_linked_host(host), "{host}");
        }
        for file in [
            "notes.md",
            "main.rs",
            "v1.2.3",
            "package.json",
            "e.g",
            "foo",
            "a..com",
            ".com",
        ] {
            assert!(!is_linked_host(file), "{file}");
        }
    }
}
