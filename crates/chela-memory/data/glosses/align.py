"""Which English word a word goes with, from sentences in two languages.

    python align.py FOLDER de es ...

IBM model 1 in both directions over stems; needs numpy and snowballstemmer. Reads
FOLDER/par/LANGUAGE.tsv, writes FOLDER/par/LANGUAGE.dict.
"""
import os,sys,re,unicodedata,collections,numpy as np,snowballstemmer,json
NAMES=dict(de='german',es='spanish',fr='french',pt='portuguese',it='italian',nl='dutch',sv='swedish',da='danish',no='norwegian',fi='finnish',ru='russian')
def fold(w):
    w=w.lower().replace('ß','ss').replace('æ','ae').replace('œ','oe').replace('ø','o').replace('ł','l').replace('đ','d').replace('ı','i')
    out=[]
    for c in w:
        if c=='й': out.append(c); continue
        out+= [x for x in unicodedata.normalize('NFKD',c) if not unicodedata.combining(x)]
    return ''.join(out)
tok=re.compile(r"[^\W\d_]+")
raw=open(os.path.join(os.path.dirname(os.path.abspath(__file__)),'../table.bin'),'rb').read()
import struct
rows,dims,wl=struct.unpack('<III',raw[8:20]); words=raw[-wl:].decode().split('\n'); vocab={w:i for i,w in enumerate(words) if not w.startswith('##')}
EN=snowballstemmer.stemmer('english')
stop=set("a about above after again all also am an and any are as at be because been before being below both but by can could d did do does doing don down during each else few for from further had has have having he her here him his how if in into is it its just ll m may might more most must no nor not now of off on once only or other out over own re s same shall she should so some such t than that the their them then there these they this those to too under until up ve very was were what when where which while who whom whose why will with would i me my you your we our us yes let".split())
def run(lang):
    S=snowballstemmer.stemmer(NAMES[lang]) if lang in NAMES else None
    cache={}
    def fs(w):
        if w not in cache: cache[w]=S.stemWord(fold(w)) if S else fold(w)
        return cache[w]
    ecache={}
    def es(w):
        w=w.lower()
        if w not in ecache: ecache[w]=EN.stemWord(w)
        return ecache[w]
    F={};E={};fi=[];ei=[];ptr=[]
    fsurf=collections.defaultdict(collections.Counter); esurf=collections.defaultdict(collections.Counter)
    sent=[]
    for l in open(f'{sys.argv[1]}/par/{lang}.tsv'):
        a,b=l.rstrip('\n').split('\t')
        A=[w for w in tok.findall(a)][:60]; B=[w for w in tok.findall(b)][:60]
        if not A or not B or len(A)>3*len(B)+3 or len(B)>3*len(A)+3: continue
        ia=[];ib=[]
        for w in A:
            s=fs(w); fsurf[s][w.lower()]+=1; ia.append(F.setdefault(s,len(F)))
        for w in B:
            s=es(w); esurf[s][w.lower()]+=1; ib.append(E.setdefault(s,len(E)))
        sent.append((ia,ib))
    def model1(pairs,nx,ny,iters=6):
        # p(y|x), with NULL as x=nx
        X=[];Y=[];G=[];W=[]
        g=0
        for xs,ys in pairs:
            xs=xs+[nx]
            for y in ys:
                X+=xs; Y+=[y]*len(xs); G+=[g]*len(xs); g+=1
        X=np.array(X,np.int64);Y=np.array(Y,np.int64);G=np.array(G,np.int64)
        key=X*ny+Y
        u,inv=np.unique(key,return_inverse=True)
        ux=u//ny
        t=np.ones(len(u))
        for it in range(iters):
            p=t[inv]; z=np.bincount(G,p,minlength=g); p/=z[G]
            c=np.bincount(inv,p,minlength=len(u))
            tot=np.bincount(ux,c,minlength=nx+1)
            t=c/np.maximum(tot[ux],1e-12)
        return dict(zip(u.tolist(),t.tolist())),dict(zip(u.tolist(),c.tolist()))
    nf,ne=len(F),len(E)
    t1,c1=model1(sent,nf,ne)                    # p(e|f)
    t2,_=model1([(b,a) for a,b in sent],ne,nf)  # p(f|e)
    Fi={v:k for k,v in F.items()};Ei={v:k for k,v in E.items()}
    fc=collections.Counter();
    for a,b in sent:
        for x in set(a): fc[x]+=1
    best=collections.defaultdict(list)
    for k,p in t1.items():
        x,y=divmod(k,ne)
        if x==nf: continue
        q=t2.get(y*nf+x,0)
        s=(p*q)**.5
        if s>=0.12: best[x].append((s,y,p,q,c1[k]))
    out=[]
    for x,l in best.items():
        l.sort(reverse=True)
        f=Fi[x]
        if len(f)<2: continue
        for s,y,p,q,c in l[:2]:
            e=Ei[y]
            if e in stop: continue
            form=next((w for w,_ in esurf[e].most_common(6) if w in vocab),None)
            if not form or form in stop: continue
            if c<1.5 and s<0.5: continue
            out.append((fsurf[f].most_common(1)[0][0],form,round(s,2),round(c,1)))
    out.sort(key=lambda o:-o[2]*min(o[3],50))
    with open(f'{sys.argv[1]}/par/{lang}.dict','w') as f:
        for o in out: f.write('\t'.join(map(str,o))+'\n')
    print(lang,len(sent),len(out),flush=True)
if __name__=="__main__":
    for l in sys.argv[2:]: run(l)
