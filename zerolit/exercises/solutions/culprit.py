def culprit(reports):
    """The rank at fault; `reports[rank]`: what it is doing, for whom it waits."""
    rank = next(r for r, (doing, _) in enumerate(reports) if doing == "waits")
    while reports[rank][0] == "waits":
        rank = reports[rank][1]
    return rank
