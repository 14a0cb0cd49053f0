//! Search in many scripts: never worse than by words alone, and across languages by meaning.
//!
//! The notes were written for this test.

use std::ops::ControlFlow;

use chela_core::{Audience, Host};
use chela_memory::embed::LocalTable;
use chela_memory::index::SyncDepth;
use chela_memory::settings::QueryMode;
use chela_memory::source::MemoryPlaces;
use chela_memory::{Memory, MemoryQuestion, MemorySettings, OpenMemory};

/// Notes of one language, and questions with the number of the note that answers each.
struct LanguageSet {
    name: &'static str,
    notes: &'static [&'static str],
    questions: &'static [(&'static str, u32)],
}

const ENGLISH_NOTES: &[&str] = &[
    "The dentist appointment is on Friday at ten",
    "Grandmother's birthday is in the summer, she likes roses",
    "The car needs new tyres before winter",
    "The key to the cellar hangs behind the kitchen door",
    "The landlord raises the rent for the apartment in May",
    "My brother works as a teacher in Hamburg",
    "The doctor prescribed tablets against the headache",
    "We bought a red bicycle for the daughter",
    "The flight to Madrid leaves early in the morning",
    "The washing machine is broken and the plumber comes tomorrow",
];

const SETS: &[LanguageSet] = &[
    LanguageSet {
        name: "German",
        notes: &[
            "Der Zahnarzttermin ist am Freitag um zehn",
            "Oma hat im Sommer Geburtstag und mag Rosen",
            "Das Auto braucht vor dem Winter neue Reifen",
            "Der Schlüssel zum Keller hängt hinter der Küchentür",
            "Die Vermieterin erhöht im Mai die Miete für die Wohnung",
            "Mein Bruder arbeitet als Lehrer in Hamburg",
        ],
        questions: &[
            ("Wann ist der Termin beim Zahnarzt?", 1),
            ("Welche Blumen mag die Oma?", 2),
            ("Was braucht das Auto?", 3),
            ("Wo hängen die Schlüssel?", 4),
            ("Wann steigt die Miete?", 5),
            ("Wo arbeitet mein Bruder?", 6),
        ],
    },
    LanguageSet {
        name: "Russian",
        notes: &[
            "Приём у стоматолога в пятницу в десять часов",
            "Бабушка любит розы, её день рождения летом",
            "Машине нужны новые шины до зимы",
            "Ключ от подвала висит за дверью кухни",
            "Мой брат работает учителем в Казани",
        ],
        questions: &[
            ("Когда приём у стоматолога?", 1),
            ("Какие цветы любит бабушка?", 2),
            ("Что нужно машине?", 3),
            ("Где ключи от подвала?", 4),
            ("Кем работает брат?", 5),
        ],
    },
    LanguageSet {
        name: "Chinese",
        notes: &[
            "星期五上午十点去看牙医",
            "奶奶的生日在夏天,她喜欢玫瑰花",
            "汽车冬天之前需要换新轮胎",
            "地下室的钥匙挂在厨房门后面",
            "我哥哥在北京当老师",
        ],
        questions: &[
            ("什么时候看牙医?", 1),
            ("奶奶喜欢什么花?", 2),
            ("汽车需要换什么?", 3),
            ("地下室的钥匙在哪里?", 4),
            ("哥哥在哪里当老师?", 5),
        ],
    },
    LanguageSet {
        name: "Japanese",
        notes: &[
            "歯医者の予約は金曜日の十時です",
            "祖母の誕生日は夏で、バラが好きです",
            "車は冬の前に新しいタイヤが必要です",
            "地下室の鍵は台所のドアの後ろにあります",
            "兄は京都で先生をしています",
        ],
        questions: &[
            ("歯医者の予約はいつですか", 1),
            ("祖母は何が好きですか", 2),
            ("車に必要なものは何ですか", 3),
            ("地下室の鍵はどこですか", 4),
            ("兄の仕事は先生ですか", 5),
        ],
    },
    LanguageSet {
        name: "Thai",
        notes: &[
            "นัดหมอฟันวันศุกร์ตอนสิบโมง",
            "คุณยายชอบดอกกุหลาบ วันเกิดอยู่ในฤดูร้อน",
            "รถยนต์ต้องเปลี่ยนยางใหม่ก่อนฤดูหนาว",
            "กุญแจห้องใต้ดินแขวนอยู่หลังประตูครัว",
        ],
        questions: &[
            ("หมอฟันนัดวันไหน", 1),
            ("คุณยายชอบดอกไม้อะไร", 2),
            ("รถยนต์ต้องเปลี่ยนอะไร", 3),
            ("กุญแจห้องใต้ดินอยู่ที่ไหน", 4),
        ],
    },
    LanguageSet {
        name: "Arabic",
        notes: &[
            "موعد طبيب الأسنان يوم الجمعة الساعة العاشرة",
            "جدتي تحب الورود وعيد ميلادها في الصيف",
            "السيارة تحتاج إلى إطارات جديدة قبل الشتاء",
            "مفتاح القبو معلق خلف باب المطبخ",
        ],
        questions: &[
            ("متى موعد طبيب الأسنان؟", 1),
            ("ماذا تحب جدتي؟", 2),
            ("ماذا تحتاج السيارة؟", 3),
            ("أين مفتاح القبو؟", 4),
        ],
    },
    LanguageSet {
        name: "Hindi",
        notes: &[
            "दंत चिकित्सक से मुलाकात शुक्रवार को दस बजे है",
            "दादी का जन्मदिन गर्मियों में है और उन्हें गुलाब पसंद हैं",
            "गाड़ी को सर्दी से पहले नए टायर चाहिए",
            "तहखाने की चाबी रसोई के दरवाजे के पीछे है",
        ],
        questions: &[
            ("दंत चिकित्सक से मुलाकात कब है?", 1),
            ("दादी को क्या पसंद है?", 2),
            ("गाड़ी को क्या चाहिए?", 3),
            ("तहखाने की चाबी कहाँ है?", 4),
        ],
    },
    LanguageSet {
        name: "Greek",
        notes: &[
            "Το ραντεβού με τον οδοντίατρο είναι την Παρασκευή στις δέκα",
            "Η γιαγιά αγαπά τα τριαντάφυλλα και έχει γενέθλια το καλοκαίρι",
            "Το αυτοκίνητο χρειάζεται καινούργια λάστιχα πριν τον χειμώνα",
            "Το κλειδί του υπογείου κρέμεται πίσω από την πόρτα της κουζίνας",
        ],
        questions: &[
            ("Πότε είναι το ραντεβού με τον οδοντίατρο;", 1),
            ("Τι αγαπά η γιαγιά;", 2),
            ("Τι χρειάζεται το αυτοκίνητο;", 3),
            ("Πού είναι το κλειδί του υπογείου;", 4),
        ],
    },
];

const ACROSS: &[LanguageSet] = &[
    LanguageSet {
        name: "German to English",
        notes: ENGLISH_NOTES,
        questions: &[
            ("Wann ist der Termin beim Zahnarzt?", 1),
            ("Welche Blumen mag die Großmutter?", 2),
            ("Was braucht das Auto?", 3),
            ("Wo hängt der Kellerschlüssel?", 4),
            ("Wann steigt die Miete?", 5),
            ("Was arbeitet mein Bruder?", 6),
            ("Was hilft gegen Kopfschmerzen?", 7),
            ("Welche Farbe hat das Fahrrad der Tochter?", 8),
            ("Wann geht der Flug?", 9),
            ("Was ist mit der Waschmaschine?", 10),
        ],
    },
    LanguageSet {
        name: "Spanish to English",
        notes: ENGLISH_NOTES,
        questions: &[
            ("¿Cuándo es la cita con el dentista?", 1),
            ("¿Qué flores le gustan a la abuela?", 2),
            ("¿Qué necesita el coche?", 3),
            ("¿Dónde está la llave del sótano?", 4),
            ("¿Cuándo sube el alquiler del apartamento?", 5),
            ("¿En qué trabaja mi hermano?", 6),
            ("¿Qué tabletas son para el dolor de cabeza?", 7),
            ("¿De qué color es la bicicleta de la hija?", 8),
            ("¿Cuándo sale el vuelo a Madrid?", 9),
            ("¿Qué le pasa a la máquina de lavar?", 10),
        ],
    },
];

/// How many of the questions have their note first, and among the first five.
fn found(set: &LanguageSet, mode: QueryMode) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("w");
    std::fs::create_dir_all(workspace.join("memory")).unwrap();
    let text: String = set.notes.iter().map(|note| format!("- {note}\n")).collect();
    std::fs::write(workspace.join("memory/notes.md"), text).unwrap();
    let host = Host::fixed(folder.path());
    let mut settings = MemorySettings::default();
    settings.query.mode = mode;
    let mut memory = Memory::open(OpenMemory {
        host: &host,
        index_file: folder.path().join("index.sqlite"),
        places: MemoryPlaces {
            workspace,
            ..MemoryPlaces::default()
        },
        settings,
        embedder: Some(&LocalTable),
    })
    .unwrap();
    memory
        .sync(SyncDepth::Quick, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let (mut first, mut near) = (0, 0);
    for (question, line) in set.questions {
        let ask = MemoryQuestion::new(question, Audience::Private);
        let lines: Vec<u32> = memory
            .search(&ask)
            .unwrap()
            .answer
            .hits
            .iter()
            .map(|hit| hit.start_line)
            .collect();
        first += usize::from(lines.first() == Some(line));
        near += usize::from(lines.iter().take(5).any(|found| found == line));
    }
    (first, near)
}

#[test]
fn no_language_is_worse_than_by_words_alone() {
    for set in SETS {
        let (whole, words) = (found(set, QueryMode::Best), found(set, QueryMode::Keyword));
        assert!(
            whole.0 >= words.0,
            "{}: {whole:?}, by words {words:?}",
            set.name
        );
        let most = set.questions.len();
        assert!(whole.0 * 5 >= most * 4, "{}: {whole:?} of {most}", set.name);
    }
}

#[test]
fn meaning_crosses_languages() {
    for set in ACROSS {
        let (_, near) = found(set, QueryMode::Best);
        let most = set.questions.len();
        assert!(near * 5 >= most * 4, "{}: {near} of {most}", set.name);
    }
}
