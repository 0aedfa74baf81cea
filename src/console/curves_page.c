/*
 * curves_page.c - see curves_page.h.
 *
 * One small page without anything from elsewhere: it works without a network, and its policy lets
 * it load nothing but its own data. The script is allowed by its hash of one use, the nonce. Paths
 * in it are relative, so that a token in the address before them stays where it is.
 */
#include "console/curves_page.h"

#include <stdio.h>
#include <string.h>

#include "loop/random.h"

static const char page_head[] =
    "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    "<meta name=referrer content=no-referrer><title>muster: curves</title><style nonce=";
static const char page_style[] =
    ">:root{color-scheme:light dark}body{font:14px system-ui,sans-serif;margin:16px}"
    "h1{font-size:18px}#c{display:grid;grid-template-columns:repeat(auto-fill,minmax(340px,1fr));"
    "gap:16px}figure{margin:0;border:1px solid #8884;padding:8px}canvas{width:100%;height:180px}"
    "figcaption{font-weight:600;overflow-wrap:anywhere}small{opacity:.7}</style>"
    "<h1 id=t></h1><p id=s role=status>…</p><div id=c></div><script nonce=";
static const char page_script[] =
    ">'use strict';"
    /* .../board/KINDS/NAMESPACE/JOB */
    "const at=location.pathname.indexOf('/board/'),base=location.pathname.slice(0,at),"
    "job=location.pathname.slice(at+7).replace(/\\/+$/,''),api=base+'/board/api/'+job,"
    "colors=['#3366cc','#dc3912','#ff9900','#109618','#990099','#0099c6'],tags=new Map();"
    "document.getElementById('t').textContent=decodeURIComponent(job.split('/').pop()||'');"
    "const say=x=>{document.getElementById('s').textContent=x};"
    "function figure(tag){let f=tags.get(tag);if(f)return f;"
    "const e=document.createElement('figure'),h=document.createElement('figcaption'),"
    "c=document.createElement('canvas'),n=document.createElement('small');h.textContent=tag;"
    "e.append(h,c,n);const all=[...tags.keys(),tag].sort(),next=all[all.indexOf(tag)+1];"
    "document.getElementById('c').insertBefore(e,next?tags.get(next).e:null);"
    "f={e,c,n,runs:new Map()};tags.set(tag,f);return f}"
    "function draw(f){const w=f.c.width=f.c.clientWidth*devicePixelRatio,"
    "h=f.c.height=f.c.clientHeight*devicePixelRatio,g=f.c.getContext('2d');"
    "let x0=Infinity,x1=-Infinity,y0=Infinity,y1=-Infinity,i=0,text=[];"
    "for(const s of f.runs.values()){for(const x of s.step){if(x<x0)x0=x;if(x>x1)x1=x}"
    "for(const y of s.value)if(y!==null){if(y<y0)y0=y;if(y>y1)y1=y}}"
    "if(!(y1>y0)){y1=y0+1}if(!(x1>x0)){x1=x0+1}"
    "for(const[run,s]of f.runs){g.strokeStyle=g.fillStyle=colors[i++%colors.length];"
    "g.lineWidth=1.5*devicePixelRatio;g.beginPath();let pen=false;"
    "for(let k=0;k<s.step.length;k++){if(s.value[k]===null){pen=false;continue}"
    "const x=(s.step[k]-x0)/(x1-x0)*(w-4)+2,y=h-2-(s.value[k]-y0)/(y1-y0)*(h-4);"
    "pen?g.lineTo(x,y):g.moveTo(x,y);pen=true}g.stroke();"
    "const k=s.step.length-1;if(k>=0)text.push((run==='.'?'':run+': ')+s.value[k]+' @ '+s.step[k])}"
    "f.n.textContent=text.join(' · ')}"
    "const live=new EventSource(api+'/live?width=500');"
    "live.addEventListener('points',e=>{const p=JSON.parse(e.data),f=figure(p.tag),"
    "old=f.runs.get(p.run);if(p.whole||!old)f.runs.set(p.run,p);else{old.step.push(...p.step);"
    "old.wall.push(...p.wall);old.value.push(...p.value)}say('');draw(f)});"
    "live.onopen=()=>{if(!tags.size)say('no scalars yet')};"
    "live.onerror=()=>{say('reconnecting…');fetch(api+'/runs').then(r=>r.ok?null:r.json())"
    ".then(x=>{if(x)say(x.message)}).catch(()=>{})};"
    "addEventListener('resize',()=>{for(const f of tags.values())draw(f)});</script>";

void curves_page_reply(struct httpd_request *http)
{
    char nonce[RANDOM_UID_SIZE], policy[256];
    struct httpd_header headers[] = {{"Content-Security-Policy", policy},
                                     {"Referrer-Policy", "no-referrer"},
                                     {"X-Content-Type-Options", "nosniff"},
                                     {"Cache-Control", "no-store"}};
    struct buf page = BUF_INIT(64u * 1024u);
    struct blob *body;

    random_uid(nonce);
    (void)snprintf(policy, sizeof(policy),
                   "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; connect-src "
                   "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                   nonce, nonce);
    buf_addf(&page, "%s%s%s%s%s", page_head, nonce, page_style, nonce, page_script);
    body = blob_from_buf(&page);
    httpd_reply(http, body ? 200 : 503, "text/html; charset=utf-8", headers, ELEMS(headers), body);
    blob_unref(body);
    buf_release(&page);
}
