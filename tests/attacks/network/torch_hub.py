# Tries: to have torch download something.
# Stopped by: seccomp
# Without it: landlock (since its version 4) lets nobody connect by TCP; with neither it gets through outside of a worker.
# %%
import http.client

import torch.hub

try:
    torch.hub.download_url_to_file("http://127.0.0.1:__PORT__/", "/dev/null", progress=False)
except (http.client.HTTPException, ConnectionError):  # it does not speak HTTP, but it was reached
    __RIGHT__
