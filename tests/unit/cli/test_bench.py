"""`tdo bench` before it measures."""


def test_what_is_refused(refused):
    refused.rows(
        """
        bench
            --roofline --device cuda                          :: --device cuda
            --roofline --rounds 2                             :: --rounds
            --against ctranslate2                             :: --against
            --cpu-time                                        :: --cpu-time
            --rounds 0                                        :: --rounds
            --json nowhere/rows.json                          :: --json
            --plot growth.gif                                 :: --plot
            --each --plot each.svg                            :: --plot
            --precision fp16 --device cpu                     :: --precision
            --options "'" --device cpu                        :: --options
            half-precision --path a.pt --data . --size small  :: --size
        bench memory
            --plot a.svg                                      :: --growth
            --rounds 2                                        :: --rounds
        bench decode
            --roofline                                        :: --roofline
            --plot a.svg                                      :: --growth
            --against ctranslate2 --device cuda               :: --device cuda
            --against ctranslate2 --plot a.svg                :: --plot
        """
    )
