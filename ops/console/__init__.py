"""The web console: a cluster in a browser. `shareq console`, and a child process of `shareq serve --console`.

    browser -> guard (host, origin, token) -> route -> poller or question -> lane (a thread with an Admin) -> cluster

Needs aiohttp: the extra `console`.
"""
