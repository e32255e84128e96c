"""nginx in front of one upstream: what a forwarder in C costs that reads no message and changes no name."""

from pathlib import Path
from urllib.parse import urlsplit


def config(port: int, url: str, folder: Path) -> str:
    """One process in the foreground, connections to the upstream kept, answers passed on as they come."""
    upstream = urlsplit(url)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "\n".join(f"  {kind}_temp_path {folder}/{kind};" for kind in kinds)
    return f"""\
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/errors crit;
events {{ worker_connections 1024; }}
http {{
  access_log off;
{folders}
  keepalive_requests 1000000000;
  client_max_body_size 64m;
  upstream server {{
    server {upstream.netloc};
    keepalive 128;
    keepalive_requests 1000000000;
  }}
  server {{
    listen 127.0.0.1:{port};
    location /mcp {{
      proxy_pass http://server{upstream.path};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""
