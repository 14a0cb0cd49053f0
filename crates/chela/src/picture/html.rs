//! A picture as a page of its own: the SVG and the same figures as a table.

use super::Picture;
use super::svg::{escape, to_svg};

const STYLE: &str = "\
body{margin:2rem auto;max-width:1200px;padding:0 1rem;font:15px/1.5 system-ui,sans-serif;color:#1d2733;background:#f6f7f9}
svg{width:100%;height:auto;border-radius:8px}
svg rect:hover{filter:brightness(1.06)}
table{border-collapse:collapse;width:100%;margin-top:1.5rem;background:#fff;border-radius:8px}
th,td{padding:.35rem .8rem;text-align:left;border-bottom:1px solid #e4e8ee}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
";

/// `rows`: name, where it comes from, zone, tokens, share.
pub fn to_html(picture: &Picture, rows: &[[String; 5]]) -> String {
    let title = escape(&picture.title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
         <style>\n{STYLE}</style></head><body>\n{}\n\
         <table><thead><tr><th>Part</th><th>Origin</th><th>Zone</th>\
         <th class=\"n\">Tokens</th><th class=\"n\">Share</th></tr></thead><tbody>\n",
        to_svg(picture)
    );
    for [name, origin, zone, tokens, share] in rows {
        page.push_str(&format!("<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n", escape(name), escape(origin), escape(zone), escape(tokens), escape(share)));
    }
    page.push_str("</tbody></table></body></html>\n");
    page
}
