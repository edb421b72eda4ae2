# Tries: to ask a web server, by Python's own client.
# Stopped by: seccomp
# Without it: landlock (since its version 4) lets nobody connect by TCP; with neither it gets through.
# %%
import http.client
import urllib.request

try:
    urllib.request.urlopen("http://127.0.0.1:__PORT__/", timeout=1)
except (http.client.HTTPException, ConnectionError):  # it does not speak HTTP, but it was reached
    __RIGHT__
