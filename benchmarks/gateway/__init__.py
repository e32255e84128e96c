"""What a call and a list cost through a gateway: Pegboard, a floor and the peers, in front of the same server."""
