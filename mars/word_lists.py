"""The lists of the built-in tagger: English words by what they are or may be."""


def _list(words: str) -> frozenset[str]:
    return frozenset(words.split())


POSSESSIVES = _list("my your his her its our their 's ’s whose")
DETERMINERS = POSSESSIVES | _list(
    "a an the this that these those every each some any no another both all either neither"
)
SUBJECTS = _list(
    """i you he she it we they who which that what nobody everybody somebody anybody everyone someone anyone
    something everything nothing anything"""
)
PRONOUNS = SUBJECTS | _list(
    """me him us them mine yours hers ours theirs myself yourself himself herself itself ourselves yourselves
    themselves none whom whoever whatever whichever oneself"""
)
PREPOSITIONS = _list(
    """about above across after against along amid among around as at before behind below beneath beside besides
    between beyond by despite during except for from in inside into like near of off on onto opposite out outside
    over past per since than through throughout to toward towards under underneath unlike until till up upon via
    with within without down amongst alongside"""
)
CONJUNCTIONS = _list("and or but nor if because although though while whereas unless whether when where why how &")
BE = _list("be am is are was were been being 'm 're ’m ’re ai")
MODALS = _list(
    """can could may might must shall should will would ca wo 'd 'll ’d ’ll cannot do does did gonna wanna"""
)
CAUSATIVES = _list("let let's help helps helped make makes made")
HAVE = _list("have has had having 've ’ve")
NEGATIONS = _list("not n't n’t")
NUMERALS = _list(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion
    trillion half"""
)
CALLS = _list("oh ah hey hi hello yes yeah ok okay please wow ouch thanks bye goodbye hmm uh um")
FUNCTION_WORDS = (
    DETERMINERS
    | PRONOUNS
    | PREPOSITIONS
    | CONJUNCTIONS
    | BE
    | MODALS
    | HAVE
    | NEGATIONS
    | NUMERALS
    | CALLS
    | {"done", "doing"}
)
DEGREES = _list(
    """very too so quite rather really extremely fairly pretty completely totally absolutely incredibly highly deeply
    entirely slightly more most less least"""
)
ADVERBS = DEGREES | _list(
    """again ago ahead almost alone already also altogether always anyhow anymore anyway anywhere apart aside away
    back backwards downstairs elsewhere else even ever everywhere forever forth forward forwards furthermore hence
    here hereby however indeed indoors instead just later maybe meanwhile moreover much nearby never nevertheless
    nonetheless nowadays now nowhere often once only otherwise outdoors overall overnight overseas perhaps
    regardless seldom sometime sometimes somewhat somewhere soon sooner still straight then thereafter therefore
    thus together tomorrow's twice upstairs upwards well yet abroad afterwards afterward aloud besides o'clock
    worldwide somehow likewise"""
)
ADJECTIVES = _list(
    """able absent alive amazing angry ashamed asleep attractive awake aware awful bad bald bare bent best better big
    bitter black blank blind blond blonde blue bold bored boring brave brief bright broad broken brown busy calm
    careful certain cheap clean clear clever close cold common cool correct crazy cruel curious damp dark dead
    deaf dear deep different dirty drunk dry due dull eager easy elderly empty entire equal evil exact excited
    exciting extra fair fake false familiar fat favorite favourite few final fine firm first fit flat fond foreign
    former free fresh frozen full fun funny further future gentle glad gold golden good grand gray great green
    grey grown guilty handsome happy harsh heavy hidden high hollow holy honest hot huge human humble hungry ill
    interesting junior keen key kind lame large last late latter lazy light lonely long loose loud lovely low
    loyal lucky mad main major many married mature mean mere messy mild minor missing modern naked narrow nasty
    near neat new next nice noble normal numb odd ok old open other outer inner own pale perfect plain pleased
    polite poor popular pregnant pretty prime proper proud pure quick quiet rare raw ready real recent red remote
    rich right ripe rough round royal rude sad safe same scared secret secure senior separate severe shallow sharp
    short shy sick silent silly similar simple single slim slow small smart smooth sober soft solid sore sorry
    sour spare square stable steady steep stiff strange strict strong stupid such sudden sunny super sure
    surprised surprising sweet swift tall tame tense terrible thick thin thirsty tidy tight tiny tired tough true
    ugly unable unique upper upset usual vague various vast warm weak wealthy weird wet white whole wide wild wise
    wooden woolen worried worse worst worth worthy wrong yellow young several enough little less purple pink
    orange nearby excellent important violent ancient current brilliant elegant pleasant urgent independent
    frequent innocent efficient sufficient confident permanent apparent convenient intelligent distant constant
    instant relevant reluctant significant vacant friendly likely unlikely deadly costly daily weekly monthly
    yearly early cowardly orderly scary ordinary necessary temporary military solitary primary elementary third
    fourth fifth sixth tenth second unfair unsure random stubborn sacred crude bland vivid timid rigid fragile
    hostile mobile male female double triple western eastern northern southern alert absurd abrupt awkward bleak
    blunt brisk chubby clumsy cozy crisp crooked cute exotic fancy feeble fierce fluffy foolish fuzzy genuine
    gloomy greedy grim grumpy hoarse icy immense intense jealous juicy lean legal lengthy mutual naughty neutral
    obvious posh precise profound robust rural rusty salty scarce shaggy shiny skinny sleepy slippery sloppy spicy
    spooky stale stark sticky stern sturdy subtle superb supreme thorough tricky urban vital wicked"""
)
NOUNS = _list(
    """family city party story country company body baby lady day way boy toy key guy monkey money honey journey
    valley belly jelly bully ally rally july italy fly butterfly assembly monopoly emily sally molly kelly billy
    lily polly holly library january february diary salary secretary boundary dictionary animal hospital meal deal
    goal capital festival trial arrival proposal signal criminal metal journal material medal rival approval
    removal survival canal terminal official individual music traffic critic clinic topic fabric mechanic picnic
    attic magic republic logic panic detective executive relative representative motive archive olive perspective
    initiative table cable vegetable bible handful spoonful fish dish rubbish morning evening building wedding
    meeting ceiling king ring string spring wing clothing painting beginning housing funding sibling pudding seed
    bed weed shed breed president student accident moment parent restaurant agent client event percent tent cent
    rent elephant giant plant tenant merchant servant infant assistant accountant today tonight tomorrow yesterday
    weekend person people child children man men woman women life wife wives stranger thing things time times year
    years friend mother father sister brother house home homes school dog cat car door room night week month hand
    hands eye eyes face head course news police forest interest guest west east north south contest priest chest
    nest arrest harvest protest test quest request suggestion bank kitchen garden list bus grass glass boss class
    dress business process princess address success forgiveness number"""
)
IRREGULAR_VERBS = _list(
    """arose arisen ate eaten beaten became become began begun bit bitten blew blown bled bought bound bred broke
    brought built burnt came caught chose chosen clung crept cut dealt drank drawn drew driven drove dug dreamt
    fed fell fallen felt fled flew flown flung forbade forgave forgiven forgot forgotten fought found froze gave
    given gone got gotten grew ground heard held hid hit hung hurt kept knelt knew known laid lain led leant
    learnt leapt left lent lit lost made meant met mistook misunderstood outgrew overcame overheard overslept
    overtook paid proved put quit ran rang rung read rid ridden rode risen rose said sang sank sat saw seen sent
    sewn shaken shone shook shot shown shrank shut slept slid smelt sold sought spat spent spilt split spoilt
    spoke spoken sprang spread spun stank stole stolen stood struck stuck stung sung sunk swam swept swore sworn
    swum swung taken taught thought threw thrown told took tore torn understood undertook went wept withdrew
    withdrawn woke woken won wore worn wound wove woven wrote written"""
)
PLAIN_VERBS = _list(
    """accept accuse achieve add admit adopt afford agree allow announce apologise apologize appear apply argue
    arrange arrive ask assume attend avoid bake be become beg begin behave believe belong borrow break breathe
    bring build bury buy carry celebrate choose clap collect come compare complain confirm connect consider
    contain continue create decide declare deliver deny depend describe deserve destroy develop die disagree
    disappear discover discuss earn eat employ encourage enjoy enter examine exist expect explain explore express
    fail feed fill find fix follow forget forgive gather get give go grow happen hate hear hide hire identify
    ignore imagine improve include inform insist invent invite involve join keep kill know lead learn leave lend
    let listen live lose make manage marry maintain melt multiply mention meet obtain occur occupy owe perform
    persuade pour practise prefer prepare pretend prevent produce protect prove provide publish pull put raise
    reach realise realize receive recognise recognize recommend reduce refuse relax rely remain remember remind
    remove repeat replace reply require reveal save say scream see seek seem select sell send serve sit sleep
    solve speak spend stand stay steal succeed suffer suggest suppose surround survive take teach tell thank think
    throw understand urge visit wait wake want warn wear win wonder worry write yell set cut mean like rid"""
)
NOUN_OR_VERB = _list(
    """act aim answer attack attempt bark bet bite blame call care catch cause chance change charge chase check cheer
    claim climb comfort command comment control cook cost cough cover crash cry dance demand design desire doubt
    dream drink drive drop end escape estimate exchange experience fall fear feel fight film flow force gain guess
    guide help hold hope hug hunt hurry hurt increase joke judge jump kick kiss knock laugh launch lift link lock
    look love march mark match matter measure miss move name note notice offer order pack paint pass pause pay
    phone pick plan play point praise press promise push rain regret release rent report rescue rest result return
    review ride rise risk roll rule run rush sail search shake share shout show sigh sign smell smile smoke snow
    sound spin spot stare start state step stop struggle study supply support surprise swim swing talk taste tear
    touch tour trade train travel treat trip trust try turn use view visit vote walk wash watch waste wave whisper
    whistle wish work wound need speed"""
)
LINKING = BE | _list(
    """seem seems seemed feel feels felt look looks looked become becomes became get gets got getting sound sounds
    sounded taste tastes tasted smell smells smelled smelt remain remains remained stay stays stayed keep keeps
    kept turn turned grew grow grows becoming feeling looking"""
)
FEELINGS = _list(
    """tired bored excited scared worried interested surprised shocked disappointed pleased embarrassed confused
    annoyed frightened terrified amazed relieved exhausted ashamed relaxed married crowded determined convinced
    satisfied thrilled delighted stressed depressed frustrated devastated lost broken hurt drunk concerned nervous
    talented"""
)
ALSO_ADVERBS = _list(
    "early late hard fast long far right straight first last next close deep high low loud wide short past near"
)
SIZES = _list("long wide tall high deep old thick away")
GOING = _list(
    "go goes went gone going come comes came coming get gets got getting drive drove driving walk walked run ran"
)
ACTIVE_ADJECTIVES = _list(
    """amazing boring charming confusing convincing disappointing disgusting embarrassing exciting existing following
    frightening growing heartbreaking interesting living missing outstanding promising relaxing rising shocking
    surprising terrifying tiring touching upcoming willing worrying leading remaining"""
)
