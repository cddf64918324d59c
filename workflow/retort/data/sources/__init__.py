"""Sources: where files come from (a package, the hub, a folder of the user), fetched and checked."""
