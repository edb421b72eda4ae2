#!/usr/bin/env bash
# Makes a token of a GitHub App, for an hour, and gives it to the workflow as the output `token`.
#
# The private key stays in this process and openssl's: no action of anybody else's receives it.
# Needs ORGANISATION, APP_CLIENT_ID and APP_PRIVATE_KEY in its environment. docs/grading-on-github.md calls it.
set -euo pipefail

encoded() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

now=$(date +%s)
header=$(printf '{"alg":"RS256","typ":"JWT"}' | encoded)
claims=$(printf '{"iat":%d,"exp":%d,"iss":"%s"}' $((now - 60)) $((now + 540)) "$APP_CLIENT_ID" | encoded)
signature=$(printf '%s' "$header.$claims" | openssl dgst -sha256 -sign <(printf '%s\n' "$APP_PRIVATE_KEY") | encoded)

ask() {  # GitHub, as the app; no argument of a command holds what it may not show
  curl --silent --show-error --fail --max-time 60 --header 'Accept: application/vnd.github+json' \
    --header @<(printf 'Authorization: Bearer %s' "$header.$claims.$signature") "$@"
}
field() { python3 -I -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

installation=$(ask "$GITHUB_API_URL/orgs/$ORGANISATION/installation" | field id) \
  || { echo "::error::the app is not installed in $ORGANISATION, or APP_CLIENT_ID and APP_PRIVATE_KEY are not its"; exit 1; }
token=$(ask --data '{"permissions":{"contents":"write"}}' \
  "$GITHUB_API_URL/app/installations/$installation/access_tokens" | field token) \
  || { echo "::error::GitHub gave no token: the app needs the permission Contents, read and write"; exit 1; }
echo "::add-mask::$token"
echo "token=$token" >> "$GITHUB_OUTPUT"
