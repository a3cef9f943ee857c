# The local certificate. A new authority, which is constrained to this machine's names, signs it. The key of the authority is deleted
# afterwards, so whoever trusts ca.pem trusts only this service.

tls_days=800       # Apple's systems refuse more than 825
tls_renew_days=30

make_certificate() {
  tls=$data/tls
  host=$(hostname)
  if certificate_is_good || { exclusively && certificate_is_good; }; then
    own_key
    return
  fi
  [ ! -f "$tls/ca.pem" ] || say "certificate: the old one expires soon or names another host; clients need the new ca.pem"
  rm -rf -- "$tls"
  mkdir "$tls.tmp.$$"
  (cd "$tls.tmp.$$" && sign_certificate >"$data/log/certificate.log" 2>&1) || fail "certificate: see $data/log/certificate.log"
  mv -T -- "$tls.tmp.$$" "$tls"
  own_key
  say "certificate: made for localhost, 127.0.0.1, ::1 and $host, valid for $tls_days days; its authority: $tls/ca.pem"
}

certificate_is_good() {
  [ -f "$tls/server.key" ] && openssl x509 -in "$tls/server.pem" -noout -checkend $((tls_renew_days * 86400)) >/dev/null 2>&1 &&
    openssl x509 -in "$tls/server.pem" -noout -checkhost "$host" 2>/dev/null | grep -q 'does match'
}

# A CN has at most 64 characters, and a host name alone can have 64, so the CN has only the beginning of a long host name. Clients use only
# the alternative names.
sign_certificate() {
  umask 077
  cat >request.conf <<CONF
[req]
distinguished_name = name
prompt = no
[name]
CN = Assay on $(printf %.50s "$host")
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
nameConstraints = critical, permitted;DNS:localhost, permitted;DNS:$host, permitted;IP:127.0.0.1/255.255.255.255, permitted;IP:::1/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = DNS:localhost, DNS:$host, IP:127.0.0.1, IP:::1
CONF
  openssl req -x509 -config request.conf -extensions authority -days "$tls_days" -sha256 \
    -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -keyout ca.key -out ca.pem
  openssl req -new -config request.conf -subj /CN=Assay -sha256 \
    -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -keyout server.key -out server.csr
  openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -days "$tls_days" -sha256 \
    -extfile request.conf -extensions server -out server.pem
  openssl verify -CAfile ca.pem server.pem
  rm -f ca.key server.csr request.conf
  chmod 0755 .
  chmod 0644 ca.pem server.pem
}

# The mode changes before the owner: in a container, root may not change the mode of files of other users.
own_key() {
  [ "$(stat -c '%U %a' "$tls/server.key")" != "$service_user 400" ] || return 0
  chmod 0400 "$tls/server.key"
  chown "$service_user" "$tls/server.key"
}
