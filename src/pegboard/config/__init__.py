"""Settings: the operator's file with its references and places, and the server lists of other clients."""
