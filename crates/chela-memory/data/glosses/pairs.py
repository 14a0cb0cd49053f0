"""Sentences in two languages, from what `sources.tsv` names.

    python pairs.py FOLDER de es ...

FOLDER holds the sources: `bibles` (a clone), `ha` (both wheels, unpacked), the two `.tgz`.
Writes FOLDER/par/LANGUAGE.tsv.
"""
import json,glob,os,re,subprocess,sys,collections
FOLDER=sys.argv[1]
REPO=FOLDER+'/bibles'
def bible(name):
    t=subprocess.run(['git','-C',REPO,'show',f'HEAD:formats/txt/{name}.txt'],capture_output=True,text=True).stdout
    book='';out={}
    for l in t.split('\n'):
        if l.startswith('### '): book=l[4:].strip()
        m=re.match(r'\[(\d+):(\d+)\] (.*)',l)
        if m: out[(book,m[1],m[2])]=m[3]
    return out
BIBLES={'de':['GerTafel','GerAlbrecht','GerOffBiSt'][:2],'es':['SpaRV1865'],'fr':['FreOltramare1874','FreStapfer1889','FreSynodale1921'],'pt':['PorBLivre'],'sv':['SweKarlXII1873'],'da':['DaOT1871NT1907'],'no':['Norsk'],'cs':['CzeBKR'],'ru':['RusMakarij'],'fi':[], 'it':[],'nl':[],'pl':[]}
HA={'no':'nb'}
def flat(d,p=''):
    if isinstance(d,dict):
        for k,v in d.items(): yield from flat(v,p+'/'+k)
    elif isinstance(d,str): yield p,d
def clean(s):
    s=re.sub(r'\{[^}]*\}|<[^>]*>|\[%key[^\]]*\]|https?://\S+',' ',s)
    return s
def ha(lang):
    code=HA.get(lang,lang); out=[]
    for d in glob.glob(FOLDER+'/ha/homeassistant/components/*/translations'):
        a,b=d+'/en.json',d+f'/{code}.json'
        if os.path.exists(a) and os.path.exists(b):
            ea=dict(flat(json.load(open(a)))); eb=dict(flat(json.load(open(b))))
            for k in ea:
                if k in eb and eb[k]!=ea[k]: out.append((clean(eb[k]),clean(ea[k])))
    return out
def haf(lang):
    code=HA.get(lang,lang); out=[]
    base=FOLDER+'/ha/hass_frontend/static/translations'
    for en in glob.glob(base+'/**/en-*.json',recursive=True):
        d=os.path.dirname(en)
        c=[f for f in glob.glob(d+f'/{code}-*.json') if re.match(rf'{code}-[0-9a-f]+\.json$',os.path.basename(f))]
        if c:
            ea=dict(flat(json.load(open(en)))); eb=dict(flat(json.load(open(c[0]))))
            for k in ea:
                if k in eb and eb[k]!=ea[k]: out.append((clean(eb[k]),clean(ea[k])))
    return out
def idp(lang):
    import tarfile
    t=tarfile.open(FOLDER+'/openstreetmap-id-tagging-schema-6.19.2.tgz')
    names={m.name:m for m in t.getmembers()}
    code=HA.get(lang,lang)
    f=f'package/dist/translations/{code}.json'
    if f not in names: return []
    en=json.load(t.extractfile('package/dist/translations/en.json')); x=json.load(t.extractfile(f))
    ea=dict(flat(en)); eb=dict(flat(x)); out=[]
    for (k,v),(k2,v2) in ((i,(i[0].replace('/en/',f'/{code}/',1),None)) for i in ea.items()):
        w=eb.get(k2)
        if w and w!=v:
            if k.endswith('/terms'): continue
            out.append((clean(w),clean(v)))
    return out
def cldr(lang):
    import tarfile
    t=tarfile.open(FOLDER+'/cldr-annotations-full-48.2.0.tgz')
    def load(code):
        r={}
        for kind in ['annotations/','annotationsDerived/']:
            try: r.update(json.load(t.extractfile(f'package/{kind}{code}/annotations.json'))[kind[:-1]]['annotations'])
            except KeyError: pass
        return r
    a,b=load('en'),load(lang); out=[]
    for k in a:
        if k in b:
            for x in b[k].get('tts',[]):
                for y in a[k].get('tts',[]): out.append((x,y))
            # keyword sets as one "sentence"
            out.append((' '.join(b[k].get('default',[])),' '.join(a[k].get('default',[]))))
    return out
if __name__=='__main__':
    bsb=bible('BSB')
    for lang in sys.argv[2:]:
        pairs=[]
        for b in BIBLES.get(lang,[]):
            x=bible(b); pairs+=[(x[k],bsb[k]) for k in x if k in bsb]
        nb=len(pairs)
        h=ha(lang)+haf(lang); i=idp(lang); c=cldr(lang)
        pairs+=h+i+c
        seen=set(); n=0
        with open(f'{FOLDER}/par/{lang}.tsv','w') as f:
            for p in pairs:
                if p in seen: continue
                seen.add(p); a,b=(re.sub(r'\s+',' ',s).strip() for s in p)
                if a and b: f.write(a+'\t'+b+'\n'); n+=1
        print(lang,nb,len(h),len(i),len(c),n,flush=True)
