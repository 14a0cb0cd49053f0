"""Puts all into `../glosses.gz`: the best words of each language.

    python merge.py FOLDER

What `LANGUAGE.hand` says wins; then what sentences and meanings say, surest first.
"""
import collections,gzip,os,re,sys
from align import vocab,stop,fold
LIM=dict(de=9000,es=11000,it=10000,fr=5200,pt=5200,nl=4600,sv=5600,da=4800,no=4800,fi=4600,ru=5000,pl=9000,cs=6500,el=5000,zh=12000)
WN=dict(es='spa',it='ita',pl='pol',zh='cmn',el='ell')
HERE=os.path.dirname(os.path.abspath(__file__))+'/'
FOLDER=sys.argv[1]
packed=[]
tot=0
common={}
for c in LIM:
    t=open(HERE+f'../../text/languages/{c}.txt').read()
    m=re.search(r'\[common\]\n(.*?)(\n\[|\Z)',t,re.S); common[c]={fold(w) for w in m.group(1).split()}
for c,lim in LIM.items():
    g=collections.OrderedDict()
    def add(w,e,weight):
        w=w.lower() if c!='zh' else w
        if e not in vocab or e in stop or fold(w) in common[c] or fold(w)==e: return
        l=g.setdefault(w,[])
        if e not in [x for x,_ in l] and len(l)<3: l.append((e,weight))
    try:
        for l in open(HERE+f'{c}.hand'):
            p=l.split()
            for w in p[1:]:
                if re.fullmatch(r"[^\W\d_]+",w): add(w,p[0],1000)
    except FileNotFoundError: pass
    hand=set(g)
    try:
        al=[l.rstrip('\n').split('\t') for l in open(f'{FOLDER}/par/{c}.dict')]
    except FileNotFoundError: al=[]
    for w,e,s,n in al:
        if w in hand: continue
        if float(s)>=0.3: add(w,e,float(s)*min(float(n),40))
    if c in WN:
        for l in open(f'{FOLDER}/par/{WN[c]}.wn'):
            w,es,s=l.rstrip('\n').split('\t')
            if w in hand: continue
            for e in es.split(): add(w,e,float(s)*0.5)
    for w,e,s,n in al:
        if w in hand or w in g: continue
        if float(s)>=0.17 and float(n)>=1.8: add(w,e,float(s))
    items=sorted(g.items(),key=lambda kv:-max((x for _,x in kv[1]),default=0))[:lim]
    items=[(w,[e for e,_ in l]) for w,l in items if l]
    items.sort()
    packed.append((c,''.join(w+'\t'+' '.join(l)+'\n' for w,l in items)))
    n=sum(len(l) for _,l in items); tot+=n
    print(c,len(items),n)
print(tot)
with open(HERE+'../glosses.gz','wb') as f:
    with gzip.GzipFile(filename='',mode='wb',fileobj=f,compresslevel=9,mtime=0) as g:
        for c,text in sorted(packed): g.write(f'[{c}]\n{text}'.encode())
