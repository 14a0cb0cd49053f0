#!/bin/sh
# Makes the certificates of the TLS tests anew (OpenSSL 3). They are for nothing but a server on
# this machine, and hold for a hundred years, so that no test fails one day because of the date.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
curve="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"

own() { # NAME [SAN]: as people make them, an authority of their own
    openssl req -x509 $curve -days 36500 -keyout "$1.key" -out "$1.pem" -subj /CN=localhost \
        ${2:+-addext "subjectAltName=$2"} 2>/dev/null
}

# `openssl ca` is the one that can be told dates in the past.
dated() { # NAME SAN FROM TO ca|leaf [-selfsign]
    : >"$work/index"
    openssl req -new $curve -keyout "$1.key" -subj /CN=localhost -out "$work/csr" 2>/dev/null
    {
        printf '[ca]\ndefault_ca=c\n[c]\ndatabase=%s/index\nnew_certs_dir=%s\n' "$work" "$work"
        printf 'default_md=sha256\npolicy=p\nrand_serial=yes\nunique_subject=no\n[p]\nCN=supplied\n[x]\n'
        printf 'subjectAltName=%s\n' "$2"
        case $5 in ca) echo basicConstraints=critical,CA:TRUE ;; *) echo basicConstraints=CA:FALSE ;; esac
    } | sed 's/^CN=/commonName=/' >"$work/conf"
    case ${6:-} in
    -selfsign) signer="-selfsign -keyfile $1.key" ;;
    *) signer="-cert authority.pem -keyfile $work/authority.key" ;;
    esac
    openssl ca -batch -notext -config "$work/conf" -extensions x -startdate "$3" -enddate "$4" \
        $signer -in "$work/csr" -out "$1.pem" 2>/dev/null
}

own self-signed DNS:localhost,IP:127.0.0.1
own nameless
dated self-expired DNS:localhost 20200101000000Z 20210101000000Z ca -selfsign
# Its key goes with the folder: nobody can sign with it again.
openssl req -x509 $curve -days 36500 -keyout "$work/authority.key" -out authority.pem \
    -subj "/CN=Test authority" 2>/dev/null
dated good DNS:localhost,IP:127.0.0.1 20200101000000Z 21200101000000Z leaf
dated other-name DNS:other.example 20200101000000Z 21200101000000Z leaf
dated expired DNS:localhost 20200101000000Z 20210101000000Z leaf
