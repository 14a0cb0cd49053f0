"""English words of a word by the meanings both have in WordNet 3.0.

    python synsets.py FOLDER

FOLDER holds `wordnet` (both Debian packages, unpacked: `usr/share/wordnet`) and the `.tab` files.
Writes FOLDER/par/LANGUAGE.wn.
"""
# foreign word -> English words, through synsets of WordNet 3.0
import re,collections,sys,json,struct,unicodedata
from align import stop,vocab
FOLDER=sys.argv[1]
W=FOLDER+'/wordnet/usr/share/wordnet/'
tags=collections.Counter(); rank={}
for l in open(W+'index.sense'):
    key,off,num,cnt=l.split()
    lemma,rest=key.split('%'); pos={'1':'n','2':'v','3':'a','4':'r','5':'a'}[rest[0]]
    rank[(off+'-'+pos,lemma)]=(int(num),int(cnt))
syn=collections.defaultdict(list)
for (off,lemma),(n,c) in rank.items(): syn[off].append((lemma,n,c))
def run(lang,f,sep=None):
    lem=collections.defaultdict(set)
    for l in open(f):
        if l.startswith('#'): continue
        p=l.rstrip('\n').split('\t')
        if len(p)<3 or not (p[1]=='lemma' or p[1].endswith(':lemma')): continue
        lem[p[2].strip().replace('+','')].add(p[0])
    out=[]
    for w,offs in lem.items():
        w=w.replace('_',' ')
        if ' ' in w or "'" in w and lang!='it' or not w: continue
        if lang in('cmn','jpn'):
            if not re.search(r'[\u3040-\u30ff\u4e00-\u9fff]',w) or len(w)>6: continue
        elif not re.fullmatch(r"[^\W\d_]+",w) or len(w)<3: continue
        if lang not in ('cmn','jpn') and w[0].isupper(): continue
        score=collections.Counter()
        for o in offs:
            for lemma,n,c in syn.get(o,[]):
                if lemma in vocab and lemma not in stop and lemma.isalpha():
                    score[lemma]+= (1+c**.5)/n
        if not score: continue
        top=score.most_common(3)
        best=[e for e,s in top if s>=top[0][1]*0.4][:2]
        freq=top[0][1]*min(1,3000/ (vocab[best[0]]+1))
        out.append((w,best,freq))
    out.sort(key=lambda x:-x[2])
    with open(f'{FOLDER}/par/{lang}.wn','w') as g:
        for w,b,s in out: g.write(w+'\t'+' '.join(b)+f'\t{s:.2f}\n')
    print(lang,len(out))
    for w,b,s in out[:25]+out[5000:5015]+out[12000:12010]: print(f'{w}={"/".join(b)}',end=' ')
    print()
run('spa',FOLDER+'/wn-data-spa.tab');run('ita',FOLDER+'/wn-data-ita.tab');run('cmn',FOLDER+'/wn-data-cmn.tab');run('pol',FOLDER+'/wn-data-pol.tab');run('ell',FOLDER+'/wn-data-ell.tab')
