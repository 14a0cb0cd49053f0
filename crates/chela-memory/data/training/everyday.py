"""Everyday talk, made up: what happened to somebody, told three ways.

Every scene gives a note ("Nina adopted a puppy"), the same told in a chat, and questions
somebody would ask about it later. No text of any collection is used.
"""

import random

NAMES = """Alex Amara Anna Ben Bianca Carlos Chen Clara Dana Diego Elena Emma Farid Felix Grace Hana
Hugo Ines Ivan Jack Jana Kai Lena Leo Lina Louis Maja Marco Mina Nadia Nina Noah Olga Omar Paul Petra
Priya Quinn Rosa Ruben Sam Sara Silvia Tariq Theo Tina Uma Vera Viktor Wanda Yara Yusuf Zoe Mark Julie
Kevin Laura Peter Rachel Steve Susan Tom Tim Kate Daniel David Lucy Maria James Emily Linda""".split()

S = {
    "pet": "puppy;kitten;dog;cat;rabbit;parrot;hamster;goldfish;guinea pig;turtle;snake;rescue greyhound;horse",
    "petname": "Biscuit;Luna;Max;Coco;Shadow;Pepper;Milo;Daisy;Rocky;Pickles;Bella;Oreo",
    "when": "yesterday;last week;last month;last Friday;two days ago;this morning;over the weekend;last summer;a year ago;in March;back in 2019;on Monday;last night;recently",
    "soon": "next month;next week;tomorrow;this weekend;in two weeks;next summer;on Saturday;in the fall;by the end of the year;next Tuesday",
    "who": "my sister;my brother;my mom;my dad;my grandmother;my best friend;my neighbor;my boss;a coworker;my cousin;my aunt;my roommate;my husband;my wife;my partner;my daughter;my son;an old classmate",
    "city": "Paris;London;Tokyo;New York;Berlin;Rome;Lisbon;Chicago;Toronto;Sydney;Mexico City;Bangkok;Boston;Seattle;Dublin;Madrid;Istanbul;Cape Town;Vancouver;Prague",
    "place": "the beach;the mountains;a lake house;the countryside;a national park;the desert;an island;a small fishing village;the forest;a ski resort",
    "job": "nurse;teacher;software engineer;chef;photographer;mechanic;designer;lawyer;barista;carpenter;journalist;accountant;paramedic;librarian;pilot;electrician;translator;social worker;actor;scientist;counselor;writer",
    "firm": "a bank;a startup;a hospital;a bakery;a law firm;a museum;a school;a newspaper;a nonprofit;a car company;a game studio;a bookstore",
    "hobby": "pottery;painting;hiking;gardening;photography;baking;rock climbing;yoga;chess;woodworking;knitting;running;swimming;cycling;dancing;fishing;surfing;playing the guitar;birdwatching;camping;video games;calligraphy;sewing;meditation;boxing;skateboarding",
    "why": "to relax;to clear my head;to make new friends;to lose weight;because it helps with stress;because I love being outdoors;to get stronger;because my doctor recommended it;to be creative;for fun",
    "sport": "basketball;soccer;tennis;volleyball;baseball;hockey;badminton;golf;rugby;table tennis;ultimate frisbee",
    "instrument": "piano;guitar;violin;drums;cello;flute;saxophone;ukulele;clarinet",
    "food": "lasagna;sushi;tacos;pancakes;curry;ramen;a chocolate cake;grilled salmon;roast chicken;banana bread;dumplings;a vegetable stew;homemade pizza;apple pie;pad thai;ice cream;a salad;risotto",
    "diet": "vegan;vegetarian;gluten-free;dairy-free;keto;pescatarian",
    "allergy": "peanuts;shellfish;cats;pollen;dairy;gluten;bees;penicillin;dust;eggs;dogs",
    "illness": "the flu;a cold;a broken arm;a sprained ankle;back pain;migraines;a fever;high blood pressure;asthma;a knee injury;insomnia;anxiety;a toothache;food poisoning",
    "book": "a mystery novel;a fantasy series;a biography;a book about ancient history;a cookbook;a science fiction novel;a book of poems;a self-help book;a thriller;a children's book",
    "film": "a horror movie;a documentary about whales;a romantic comedy;an action movie;an animated film;a crime series;a superhero movie;a cooking show;an old western;a drama about a family",
    "music": "jazz;classical music;hip hop;rock;country songs;electronic music;folk;blues;opera;punk",
    "event": "a concert;a wedding;a birthday party;a charity run;a book fair;a food festival;a graduation;a funeral;an art exhibition;a conference;a family reunion;a protest march;a football match;a workshop;a poetry reading;a baby shower;a support group meeting;a parade;a job interview",
    "gift": "a necklace;a watch;a pair of headphones;a handmade scarf;a bike;a book;flowers;a board game;a coffee machine;a painting;a gift card;a teddy bear;a camera",
    "thing": "a new phone;a laptop;a used car;a bicycle;a couch;a sewing machine;running shoes;a tent;a washing machine;a camera;a winter coat;a bookshelf;a telescope;a guitar;a lamp",
    "money": "twenty dollars;fifty euros;300 dollars;a thousand bucks;almost nothing;1,200 euros;forty pounds",
    "color": "blue;green;red;yellow;purple;orange;black;white;turquoise;pink",
    "subject": "biology;history;computer science;psychology;law;medicine;economics;art;physics;nursing;philosophy;education;architecture;marketing;journalism",
    "language": "Spanish;French;Japanese;German;Italian;Portuguese;Korean;Arabic;Mandarin;sign language",
    "feel": "happy;proud;nervous;sad;excited;exhausted;lonely;grateful;angry;relieved;overwhelmed;worried;disappointed;scared;hopeful;embarrassed",
    "cause": "animal shelter;homeless shelter;food bank;hospice;community garden;school library;youth center;beach cleanup;soup kitchen;refugee center",
    "fix": "the kitchen;the bathroom;the roof;the old car;the fence;the washing machine;the garden shed;the leaking sink;the bedroom walls;the heating",
    "home": "a small apartment;a house with a garden;a studio downtown;a cabin;a shared flat;a farmhouse;my parents' basement;a condo near the river",
    "problem": "my flight was cancelled;my car broke down;I lost my wallet;my phone got stolen;the power went out;I missed the train;my laptop crashed;I got a parking ticket;my landlord raised the rent;I forgot my password;I locked myself out;the basement flooded",
    "goal": "run a marathon;write a novel;start a business;save for a house;learn to swim;quit smoking;get promoted;open a cafe;travel the world;get in shape;adopt a child;learn to drive;eat healthier;pay off my loans;record an album;become a citizen",
    "kin": "two kids;three brothers;a twin sister;one son;no siblings;a baby girl;five cousins;a stepbrother;four grandchildren;identical twins",
    "weather": "it rained all day;there was a huge storm;it was snowing;it was way too hot;it was sunny and warm;it was foggy;it was freezing cold;the wind was crazy",
    "app": "the calendar app;the backup;the website;the printer;the wifi router;the login page;the database;the build server;the mobile app;the spreadsheet;the camera;the email server",
    "bug": "keeps crashing;is really slow;stopped working after the update;will not connect;shows the wrong time zone;runs out of disk space;loses my settings;gives an error message;needs a new password",
    "doctor": "dentist;doctor;eye doctor;physiotherapist;therapist;vet;dermatologist;surgeon",
    "art": "a sunset;a portrait of my dog;a mural;a vase;a landscape;a comic;a sculpture of a horse;a quilt;a wooden table;a short film;a song about home;a poem",
    "plan": "visit my parents;go camping;see a doctor;move in together;go on a road trip;have a barbecue;clean the garage;take the exam;watch the game;paint the living room;sign the lease;renew my passport;plant tomatoes",
    "time": "at 7 pm;at noon;at 9:30;early in the morning;at 3 o'clock;after work;before lunch;at midnight",
    "company": "Acme;Globex;Initech;Umbrella;Northwind;Contoso;Blue Harbor;Redwood",
    "amount": "five;ten;three;two;twelve;a dozen;fifteen;seven",
}
S = {k: v.split(";") for k, v in S.items()}

# (notes, told, questions); {P} is the person, I stands for the teller.
SCENES = [
    ("{P} adopted a {pet} named {petname} {when}.|{P} has a {pet} called {petname}.",
     "We just adopted a {pet}! The name is {petname}.|Guess what, I got a {pet} {when}. We call it {petname}.|Meet {petname}, my new {pet}!",
     "What pet did {P} get?|What is the name of {P}'s {pet}?|Does {P} have any animals?|When did {P} adopt a pet?|what's my {pet} called"),
    ("{P} works as a {job} at {firm}.|{P} is a {job}.|{P} got hired as a {job} {when}.",
     "I started working as a {job} at {firm} {when}.|So I finally got the job! I'm a {job} now.|Work is busy, being a {job} at {firm} is no joke.",
     "What does {P} do for a living?|What is {P}'s job?|Where does {P} work?|What kind of work does {P} do?|What is {P}'s occupation?|When did {P} start the new job?"),
    ("{P} lost the job at {firm} {when}.|{P} was laid off from {firm}.|{P} quit the job as a {job}.",
     "I got fired {when}, I don't know what to do.|They let me go at {firm}. I'm out of work.|I handed in my resignation {when}. I can't be a {job} anymore.",
     "Why did {P} leave the job?|When did {P} lose the job?|Is {P} unemployed?|What happened with {P}'s career?"),
    ("{P} likes {hobby} {why}.|{P}'s hobby is {hobby}.|{P} took up {hobby} {when}.",
     "I've been really into {hobby} lately, mostly {why}.|{hobby} is my thing now, I do it {why}.|I signed up for a {hobby} class {when}!",
     "What are {P}'s hobbies?|What does {P} do in the free time?|Why did {P} start {hobby}?|How does {P} relax?|What activities does {P} enjoy?|What does {P} do to destress?"),
    ("{P} travelled to {city} {when}.|{P} went on vacation to {city} with {who}.|{P} visited {city}.",
     "We flew to {city} {when}, it was amazing!|Just got back from {city} with {who}.|I spent a week in {city}, the food was so good.",
     "Where did {P} go on vacation?|Which city did {P} visit {when}?|Where has {P} traveled?|Who did {P} travel with?|When was the trip to {city}?"),
    ("{P} is going to {place} {soon}.|{P} plans a trip to {place}.",
     "I can't wait, we are heading to {place} {soon}!|We booked a place near {place} for {soon}.",
     "Where is {P} planning to go?|What are {P}'s travel plans?|When is {P} going on holiday?|What is {P} doing {soon}?"),
    ("{P} moved to {city} {when}.|{P} lives in {city} in {home}.|{P} is originally from {city}.",
     "I moved to {city} {when}. It's {home}, but I love it.|I live in {home} now.|I grew up in {city}, I miss it sometimes.",
     "Where does {P} live?|Where did {P} move from?|What is {P}'s home town?|When did {P} move?|What is {P}'s place like?"),
    ("{P} plays the {instrument}.|{P} has been learning the {instrument} since {when}.",
     "I practice the {instrument} every day.|I picked up the {instrument} again {when}, my fingers hurt!",
     "What instrument does {P} play?|Is {P} a musician?|How long has {P} been playing music?"),
    ("{P} plays {sport} with friends.|{P}'s team won the {sport} game {when}.|{P} was injured while playing {sport}.",
     "We won our {sport} match {when}!|I hurt myself playing {sport}, ouch.|Our {sport} practice is on Thursdays.",
     "What sport does {P} play?|Which game did {P}'s team win?|How did {P} get injured?|What does {P} do to stay active?"),
    ("{P} cooked {food} for {who}.|{P}'s favorite food is {food}.|{P} learned to make {food}.",
     "I made {food} for {who} {when} and everybody loved it.|I could eat {food} every day!|Trying a new recipe tonight: {food}.",
     "What did {P} cook?|What is {P}'s favorite dish?|What does {P} like to eat?|What meal did {P} make for dinner?|Which recipe did {P} try?"),
    ("{P} is {diet}.|{P} follows a {diet} diet.|{P} is allergic to {allergy}.",
     "I can't eat that, I'm allergic to {allergy}.|I've been {diet} since {when}.|No {allergy} for me please, last time I ended up in hospital.",
     "What is {P} allergic to?|Does {P} have any allergies?|What diet does {P} follow?|What food should {P} avoid?|any dietary restrictions?"),
    ("{P} had {illness} {when}.|{P} suffers from {illness}.|{P} went to the {doctor} because of {illness}.",
     "I've been sick with {illness}, stayed in bed all day.|The {doctor} says I have {illness}.|My {illness} is finally getting better.",
     "What health problem does {P} have?|Why did {P} see the {doctor}?|How is {P} feeling?|What illness did {P} have?|What was wrong with {P}?"),
    ("{P} has an appointment with the {doctor} {soon} {time}.|{P}'s {doctor} appointment is {soon}.",
     "Don't forget, I have to see the {doctor} {soon} {time}.|I made an appointment with the {doctor} for {soon}.",
     "When is the {doctor} appointment?|What time is {P}'s checkup?|When do I have to go to the {doctor}?|what's on the calendar {soon}"),
    ("{P} is reading {book}.|{P} finished {book} {when}.|{who} recommended {book} to {P}.",
     "I couldn't put it down, {book} that {who} gave me.|I'm halfway through {book}.",
     "What is {P} reading?|Which book did {P} finish?|What kind of books does {P} like?|Who recommended the book?"),
    ("{P} watched {film} with {who} {when}.|{P} loves watching {film}.",
     "We watched {film} {when}. I cried at the end.|Have you seen it? {film}, so good.",
     "What movie did {P} watch?|What kind of films does {P} like?|What did {P} see at the cinema?|Which show is {P} watching?"),
    ("{P} likes {music}.|{P} went to a {music} concert {when}.",
     "I listen to {music} all the time.|The {music} band {when} was incredible live.",
     "What music does {P} like?|Which concert did {P} attend?|What kind of songs does {P} listen to?"),
    ("{P} attended {event} {when}.|{P} went to {event} with {who}.|{P} was invited to {event} {soon}.",
     "I went to {event} {when}, so many people!|Are you coming to {event} {soon}?|{event} {when} was really emotional for me.",
     "What event did {P} attend?|When did {P} go to {event}?|Who went with {P}?|What did {P} do {when}?|Where was {P} {when}?"),
    ("{P} gave {who} {gift}.|{P} received {gift} from {who} for the birthday.",
     "{who} gave me {gift} for my birthday!|I still need a present, maybe {gift} for {who}?|I bought {gift} for {who}.",
     "What present did {P} get?|What did {P} give as a gift?|Who gave {P} {gift}?|What did {P} get for the birthday?"),
    ("{P} bought {thing} for {money}.|{P} purchased {thing} {when}.|{P} sold {thing}.",
     "I finally bought {thing}, only {money}!|I spent {money} on {thing}.|I'm selling {thing} if anybody wants it.",
     "What did {P} buy?|How much did {thing} cost?|What purchase did {P} make {when}?|how much did I pay for {thing}"),
    ("{P} studies {subject} at the university in {city}.|{P} graduated in {subject} {when}.",
     "I'm studying {subject}, exams start {soon}.|I got my degree in {subject} {when}!|I want to go back to school for {subject}.",
     "What did {P} study?|What is {P}'s degree?|Where did {P} go to college?|What field is {P} interested in?|What education does {P} have?"),
    ("{P} is learning {language}.|{P} speaks {language}.",
     "My {language} is getting better, I practice with {who}.|I'm taking {language} lessons {when}.",
     "What language is {P} learning?|Which languages does {P} speak?"),
    ("{P} felt {feel} about {event}.|{P} was {feel} {when}.",
     "I was so {feel} after {event}.|Honestly I feel {feel} right now.|I've been {feel} since {when}.",
     "How did {P} feel about {event}?|What was {P}'s mood?|Why was {P} {feel}?|How did {event} make {P} feel?"),
    ("{P} volunteers at the {cause}.|{P} helped at a {cause} {when}.|{P} raised {money} for the {cause}.",
     "I've been helping out at the {cause}, it means a lot to me.|We raised {money} for the {cause}!",
     "Where does {P} volunteer?|What charity does {P} support?|How does {P} help the community?|What kind of volunteering has {P} done?"),
    ("{P} repaired {fix} {when}.|{P} is renovating {fix} with {who}.",
     "I spent the whole day fixing {fix}.|{who} helped me with {fix}, it looks great now.",
     "What did {P} fix?|What is {P} renovating?|Who helped {P} with {fix}?|What work was done on the house?"),
    ("{P} had trouble {when}: {problem}.", "You won't believe it, {problem} {when}.|Ugh, {problem}. What a day!|Sorry I'm late, {problem}.",
     "What went wrong for {P} {when}?|What problem did {P} have?|Why was {P} late?|What setback did {P} face?"),
    ("{P} wants to {goal}.|{P}'s dream is to {goal}.|{P} decided to {goal} {soon}.",
     "My dream is to {goal} one day.|I'm going to {goal} {soon}, wish me luck!|I want to {goal} so bad.",
     "What are {P}'s goals?|What does {P} want to achieve?|What is {P}'s dream?|What plans does {P} have for the future?"),
    ("{P} has {kin}.|{P} grew up with {kin}.", "I have {kin}, so it's never quiet at home.|Family is everything, I've got {kin}.",
     "How many children does {P} have?|Does {P} have siblings?|What is {P}'s family like?|Tell me about {P}'s relatives"),
    ("{P} got married {when} in {city}.|{P} is getting divorced.|{P} is engaged to someone from {city}.|{P} is single.",
     "We got married {when} in {city}!|I said yes! We're engaged.|We broke up {when}, it's been hard.|I'm single and that's fine.",
     "Is {P} married?|What is {P}'s relationship status?|When was {P}'s wedding?|Who is {P} dating?|How long has {P} been married?"),
    ("{P} is expecting a baby {soon}.|{P}'s daughter was born {when}.", "We're having a baby {soon}!|Our little girl was born {when}, she is perfect.",
     "When is the baby due?|When was {P}'s child born?|Is {P} pregnant?|Does {P} have kids?"),
    ("On the trip {weather}.|{P} stayed home because {weather}.", "We stayed inside, {weather}.|{weather} when we got to {place}.",
     "What was the weather like?|Why did {P} stay home?|Did it rain on the trip?"),
    ("{app} {bug}.|{P} reported that {app} {bug}.", "Hey, {app} {bug} again.|I can't get anything done, {app} {bug}.|Fixed it: {app} works again, I restarted it.",
     "What is wrong with {app}?|Which technical problem did {P} report?|How was {app} fixed?|why does {app} not work"),
    ("{P} painted {art} {when}.|{P} made {art}.", "Look what I made: {art}!|I finished {art} {when}, took me ages.",
     "What did {P} create?|What did {P} paint?|What art has {P} made?|What did {P} show {when}?"),
    ("{P} plans to {plan} {soon} {time}.|{P} and {who} will {plan} {soon}.|The plan for {soon}: {plan}.",
     "Want to {plan} {soon}? Say {time}?|We're going to {plan} {soon}.|Reminder: {plan} {soon} {time}.",
     "What is {P} planning for {soon}?|When will {P} {plan}?|What are we doing {soon}?|Who will {plan} with {P}?|what time do we {plan}"),
    ("{P}'s favorite color is {color}.|{P} painted the room {color}.|{P} dyed the hair {color}.",
     "I love {color}, half my clothes are {color}.|I dyed my hair {color} {when}!",
     "What is {P}'s favorite color?|What color did {P} choose?|What color is {P}'s hair?"),
    ("The meeting with {company} is {soon} {time}.|{P} signed the contract with {company} {when}.|{company} owes us {money}.",
     "{company} wants to meet {soon} {time}.|We closed the deal with {company}!|Did {company} pay the invoice yet? It was {money}.",
     "When is the meeting with {company}?|Which client signed the contract?|How much does {company} owe?|who is our customer {company}"),
    ("{P} decided to use {app} for the project.|The team agreed to move {app} to the cloud {soon}.",
     "We decided {when}: {app} moves to the new server {soon}.|Let's not touch {app} until the release {soon}.",
     "What did the team decide about {app}?|When do we migrate {app}?|Why did we postpone the release?"),
    ("{P} has {amount} {pet}s.|{P} has done {hobby} for {amount} years.|{P} has known {who} for {amount} years.",
     "It's been {amount} years of {hobby}!|{who} and I have been friends for {amount} years.",
     "How long has {P} been doing {hobby}?|How many pets does {P} have?|How long have they known each other?|How many years of experience does {P} have?"),
    ("{P}'s {petname} passed away {when}.|{P} lost {who} {when}.|{P} misses {who}.",
     "We lost {petname} {when}. I'm heartbroken.|{who} died {when}. I still can't believe it.",
     "What loss did {P} suffer?|Who died?|Why is {P} grieving?|What happened to {petname}?"),
    ("{P} was inspired by {who} to start {hobby}.|{who} supports {P}.|{P} admires {who}.",
     "{who} is the reason I started {hobby}.|{who} always has my back.|I look up to {who} so much.",
     "Who inspired {P}?|Who supports {P}?|Who motivated {P} to start {hobby}?|Who does {P} look up to?"),
    ("{P} practices {hobby} every week {time}.|{P} wakes up early for {hobby}.", "I do {hobby} every Sunday {time}.|I get up at six to do {hobby}.",
     "How often does {P} do {hobby}?|What is {P}'s routine?|When does {P} usually do {hobby}?"),
    ("{P}'s car is {color}.|{P} drives an old {color} van.|{P} commutes by bike.", "I drive a beat-up {color} van.|I sold my car, I bike to work now.",
     "What car does {P} drive?|How does {P} get to work?|What color is {P}'s car?"),
    ("{P} gets on well with {who}.|{P} argued with {who} about {money}.", "I had a fight with {who} about money.|{who} and I made up {when}.",
     "Who did {P} argue with?|What was the argument about?|How is {P}'s relationship with family?"),
    ("{P} won first place at {event}.|{P} got promoted {when}.|{P} passed the {subject} exam {when}.",
     "I won! First place at {event}!|I got the promotion {when}!|I passed my {subject} exam, finally.",
     "What did {P} win?|What achievement is {P} proud of?|When was {P} promoted?|Which test did {P} pass?|What success did {P} have recently?"),
    ("{P} prefers tea over coffee.|{P} drinks coffee black.|{P} likes to be called by the first name.|{P} prefers short answers.",
     "No coffee for me, tea please.|Please keep it short when you answer me.|Just call me {P}.",
     "What does {P} like to drink?|How does {P} take coffee?|How does {P} want to be addressed?|what are my preferences"),
]

OPEN = ["Hey {Q}! ", "Hi {Q}, ", "Wow, ", "Oh nice! ", "Thanks! ", "Yeah, ", "That's awesome! ", "Haha ", "So, ", "By the way, ", "Well, ", "", "", "", "", "", "Cool! ", "I'm so sorry to hear that. ", "Good to see you, {Q}. ", "Congrats! ", "How have you been? ", "lol ", "Hmm, ", "Aww! "]
CLOSE = [" What about you?", " How are you?", " It was great.", " I had so much fun!", " Talk soon!", " Any advice?", "", "", "", "", "", "", " What do you think?", " I'll send you a picture.", " It means a lot to me.", " Take care!", " I can't wait."]


def pairs(count, seed):
    """Pairs of texts that belong together: a question and what answers it, a note and its telling."""
    rng = random.Random(seed)
    cut = [[part.split("|") for part in scene] for scene in SCENES]
    for _ in range(count):
        notes, told, asked = rng.choice(cut)
        slots = {k: rng.choice(v) for k, v in S.items()}
        person, other = rng.sample(NAMES, 2)
        who = slots["who"]
        fact = dict(slots, P=person, who=who.replace("my ", rng.choice(["a ", "the "])))
        talk = dict(slots, P=person, Q=other)
        note = rng.choice(notes).format(**fact)
        if rng.random() < 0.3:
            note = note + " " + rng.choice(notes).format(**fact)
        say = rng.choice(OPEN).format(Q=other) + rng.choice(told).format(**talk) + rng.choice(CLOSE)
        if rng.random() < 0.4:
            say = f"{person}: {say}"
        question = rng.choice(asked)
        roll = rng.random()
        if roll < 0.35:
            question = question.replace("{P}'s", "my").replace("does {P}", "do I").replace("did {P}", "did I").replace("has {P}", "have I").replace("is {P}", "am I")
        elif roll < 0.5:
            question = question.replace("{P}'s", "your").replace("does {P}", "do you").replace("did {P}", "did you").replace("has {P}", "have you")
        question = question.format(**fact)
        kind = rng.random()
        if kind < 0.4:
            yield question, note
        elif kind < 0.8:
            yield question, say
        else:
            yield note, say


if __name__ == "__main__":
    for a, b in pairs(30, 1):
        print(a, "=>", b)
